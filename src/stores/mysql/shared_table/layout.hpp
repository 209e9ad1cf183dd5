// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/store_interface/store_url.hpp"
#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/settings.hpp"

namespace dlock::stores::mysql::shared_table {

/// The type of a column, as far as a scheme must know it.
enum class column_type { text, bytes, integer, timestamp, datetime, other };

struct column {
  std::string name{};
  column_type type = column_type::other;
  std::size_t room = 0;  ///< in characters of a text, or in bytes
  std::string charset{};
  std::string collation{};
  unsigned digits = 0;  ///< the digits of a second that an expiry keeps
  bool nullable = false;
  bool computed = false;         ///< a virtual column
  bool follows_updates = false;  ///< ON UPDATE CURRENT_TIMESTAMP
  bool padded = false;           ///< BINARY, which appends zero bytes to a shorter value and so changes it

  std::string quoted() const;
  /// The unit of an expiry.
  microseconds unit() const noexcept;
};

/// The names of a scheme's table and columns, from a URL.
struct table_settings : mysql_settings {
  std::string scheme{};
  std::string table{};
  std::string waiter_table{};                                 ///< empty if waiters only poll
  std::map<std::string, std::string, std::less<>> columns{};  ///< the columns' names, by the parameters that set them

  /// Takes `table` and all that mysql_settings::take() takes. Throws std::invalid_argument.
  static table_settings take(store_url& url, std::string scheme, const std::string& table);
  /// Takes parameters that name columns, with these defaults. Throws std::invalid_argument.
  void take_columns(store_url& url, std::initializer_list<std::pair<const char*, std::string>> defaults);
  /// Takes `wake`. Throws std::invalid_argument, also if the waiter table's name would be too long.
  void take_wake(store_url& url, bool fallback);
};

/// Throws std::invalid_argument if it is empty or longer than a name can be.
std::string checked_name(const std::string& parameter, std::string name);
/// Takes a parameter that names a column. Throws as checked_name().
std::string take_column(store_url& url, const char* parameter, const std::string& fallback);

/// A table that other programs made, as the server describes it.
class layout {
 public:
  /// Throws store_error if there is no such table, it is not InnoDB's, or its primary key is not one number or text.
  static layout read(mysql_connection& connection, const table_settings& settings);

  /// "`table`"
  const std::string& table() const noexcept { return table_; }
  const column& primary() const noexcept { return primary_; }
  /// Throws store_error, which names table, column and `parameter`, if there is none.
  const column& get(const std::string& name, const char* parameter) const;
  /// The column of the key: texts or bytes stored unchanged, and unique by itself.
  const column& key(const std::string& name) const;
  /// The column of the holder's name: text of at least that many characters.
  const column& owner(const std::string& name, std::size_t characters) const;
  /// The column of a lease's end: TIMESTAMP or DATETIME, which no other update of the row changes.
  const column& expiry(const std::string& name) const;
  /// A column of date and time.
  const column& time(const std::string& name, const char* parameter) const;
  /// A column of numbers.
  const column& number(const std::string& name, const char* parameter) const;
  /// A column whose value is neither in that column's index nor in the primary key's part of it. Null if there is none.
  const column* outside_index_of(const column& key) const noexcept;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::string store_{};
  std::string scheme_{};
  std::string table_{};
  column primary_{};
  std::vector<column> columns_{};
  std::vector<std::string> unique_{};  ///< columns with a unique index of their own
};

/// Why a text can't be a key in such a column; empty if it can.
std::string unfit_for(const column& key, std::string_view text);

/// An expression for a text in the form of the column, so that its index serves the comparison in any character set.
/// `marker` is the parameter `:key`, a value, or an expression of bytes. For a number, its digits.
std::string key_parameter(const column& key, std::string_view marker = ":key");
std::string value_of_bytes(const column& of, std::string_view bytes);
std::string value_literal(const column& of, std::string_view value);

}  // namespace dlock::stores::mysql::shared_table
