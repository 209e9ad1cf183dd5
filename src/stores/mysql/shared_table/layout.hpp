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

/// What a column holds, as far as a scheme must know.
enum class column_type { text, bytes, integer, timestamp, datetime, other };

struct column {
  std::string name{};
  column_type type = column_type::other;
  std::size_t room = 0;  ///< characters of a text, bytes
  std::string charset{};
  std::string collation{};
  unsigned digits = 0;  ///< of a second, that an expiry keeps
  bool nullable = false;
  bool computed = false;         ///< from others, when it is read
  bool follows_updates = false;  ///< ON UPDATE CURRENT_TIMESTAMP
  bool padded = false;           ///< BINARY: what is shorter gets zero bytes, and is another value then

  std::string quoted() const;
  /// The unit in which an expiry is kept.
  microseconds unit() const noexcept;
};

/// What a scheme's table is called, and its columns, as a URL says it.
struct table_settings : mysql_settings {
  std::string scheme{};
  std::string table{};
  std::string waiter_table{};                                 ///< empty: waiters only poll
  std::map<std::string, std::string, std::less<>> columns{};  ///< their names, by the parameters that say them

  /// Takes `table` and all that mysql_settings::take() takes. Throws std::invalid_argument.
  static table_settings take(store_url& url, std::string scheme, const std::string& table);
  /// Takes parameters that name columns, and have these defaults. Throws std::invalid_argument.
  void take_columns(store_url& url, std::initializer_list<std::pair<const char*, std::string>> defaults);
  /// Takes `wake`. Throws std::invalid_argument, also if the waiter table's name would be too long.
  void take_wake(store_url& url, bool fallback);
};

/// Throws std::invalid_argument if it is empty or longer than a name can be.
std::string checked_name(const std::string& parameter, std::string name);
/// A parameter that names a column. Likewise.
std::string take_column(store_url& url, const char* parameter, const std::string& fallback);

/// A table that other programs made, and what the server says of it.
class layout {
 public:
  /// Throws store_error: there is no such table, it is not InnoDB's, or it has no primary key of one number or text.
  static layout read(mysql_connection& connection, const table_settings& settings);

  /// "`table`"
  const std::string& table() const noexcept { return table_; }
  const column& primary() const noexcept { return primary_; }
  /// Throws store_error, which names table, column and `parameter`, if there is none.
  const column& get(const std::string& name, const char* parameter) const;
  /// The same for the key: of texts or bytes as they are, and unique by itself.
  const column& key(const std::string& name) const;
  /// The same for the holder's name: text of at least so many characters.
  const column& owner(const std::string& name, std::size_t characters) const;
  /// The same for the end of a lease: TIMESTAMP or DATETIME, which no other update of the row changes.
  const column& expiry(const std::string& name) const;
  /// The same for a date and time.
  const column& time(const std::string& name, const char* parameter) const;
  /// The same for a number.
  const column& number(const std::string& name, const char* parameter) const;
  /// A column whose value is neither in that column's index nor in the primary key's entry there; null: there is none.
  const column* outside_index_of(const column& key) const noexcept;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::string store_{};
  std::string scheme_{};
  std::string table_{};
  column primary_{};
  std::vector<column> columns_{};
  std::vector<std::string> unique_{};  ///< columns that have a unique index alone
};

/// Why a text can't be a key in such a column; empty: it can.
std::string unfit_for(const column& key, std::string_view text);

/// A text as a column has it, so that its index serves the comparison whatever its character set is: the parameter
/// `:key`, a value, or an expression of bytes. Of a number: its digits.
std::string key_parameter(const column& key, std::string_view marker = ":key");
std::string value_of_bytes(const column& of, std::string_view bytes);
std::string value_literal(const column& of, std::string_view value);

}  // namespace dlock::stores::mysql::shared_table
