// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/shared_table/layout.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::shared_table {

/// The possible parameters of statements, in this order.
inline constexpr std::array<std::string_view, 6> parameter_names{"key", "owner", "holder", "ttl", "fence", "until"};

/// The places of the parameters, one set for each connection.
struct shared_values {
  mysql_bytes<1020> key{};
  mysql_bytes<64> owner{};   ///< ours
  mysql_bytes<64> holder{};  ///< the holder that was seen
  std::int64_t ttl = 0;
  std::uint64_t fence = 0;
  std::int64_t until = 0;

  /// `bytes`: whether the key is sent as bytes.
  mysql_field field(std::size_t parameter, bool bytes) noexcept;
};

/// A scheme's statements for the existing table.
struct scheme_sql {
  /// In the order of `verb`; empty ones are not used.
  std::array<sql::statement_text, 7> verbs{};
  /// Further statements, which the scheme runs by their indices.
  std::vector<sql::statement_text> others{};
  /// A free key has no row, so verb::take begins with the INSERT.
  bool inserts_first = false;
  /// For operators: key, holder's name, remaining time, fence (or 0). A condition about the key follows.
  std::string held{};
  /// A condition: the row has a holder, regardless of its expiry.
  std::string taken{};
  /// Selects the primary keys of expired rows. LIMIT follows. If empty, nothing is cleaned up.
  std::string expired{};
  /// Frees one of them if it is still expired; the primary key as a literal follows.
  std::string free_expired{};
  /// The first statements on a new connection.
  std::vector<std::string> at_start{};
  std::string table{};  ///< quoted
  column key{};
  column primary{};
  microseconds unit{1};  ///< the unit of an expiry
};

/// A scheme's table and statements, which are all that schemes differ in.
struct table_scheme {
  table_settings settings;
  /// Throws store_error if the table lacks something.
  std::function<scheme_sql(const layout& table)> make_sql;
};

/// The statements about locks in the words of a scheme, which also has {taken}, {key}, {held} and {holder}, and
/// {expired} if rows are cleaned up. Throws std::logic_error, as named_sql does.
scheme_sql sql_of(const sql::dictionary& words, const layout& table, const column& key, microseconds unit);
/// Makes one further statement.
sql::statement_text statement_of(const char* name, std::string_view sql, const sql::dictionary& words);

/// A connection with those statements prepared.
class shared_connection final : public mysql_connection {
 public:
  /// `sql` and `hosts` must outlive it. Throws as mysql_connection does.
  shared_connection(mysql_opened from, const scheme_sql& sql, mysql_hosts& hosts);

  shared_values& values() noexcept { return values_; }
  using mysql_connection::change;
  /// Runs the statement of a verb that writes. Returns no if no row matched, or the key existed. A "no" about our own
  /// grant is asked again, because this node of a cluster may not have seen it yet.
  reply change(verb action, row_wait if_locked) {
    const bool ours = action == verb::extend || action == verb::release;
    return unless_there(mysql_connection::change(at(action), ours, if_locked));
  }
  outcome poll(std::span<const mysql_field> row, fault& why) { return fetch(at(verb::poll), row, why); }
  /// Runs one of the further statements.
  reply change(std::size_t other, row_wait if_locked, bool ours = false) {
    return unless_there(mysql_connection::change(other_at(other), ours, if_locked));
  }
  outcome poll(std::size_t other, std::span<const mysql_field> row, fault& why) {
    return fetch(other_at(other), row, why);
  }
  bool prepare_all(fault& why);

 private:
  mysql_statement& at(verb action) noexcept { return statements_[static_cast<std::size_t>(action)]; }
  mysql_statement& other_at(std::size_t other) noexcept { return statements_[verbs_ + other]; }

  const std::size_t verbs_;
  std::vector<std::string> texts_{};  // never grows, because statements refer to its elements
  shared_values values_{};
  std::vector<mysql_statement> statements_{};
};

}  // namespace dlock::stores::mysql::shared_table
