// SPDX-License-Identifier: BSL-1.0
// What operators see of the lock tables as a whole, and of the application's tables whose rows are locked in place.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/rows.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "stores/sql/holder_rows.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

// By the names of dlock::lock_columns and dlock::expiring_lock_columns.
constexpr const char* tables_with_locks = R"(
SELECT TABLE_SCHEMA, TABLE_NAME, GROUP_CONCAT(LOWER(COLUMN_NAME) ORDER BY COLUMN_NAME)
FROM information_schema.COLUMNS
WHERE LOWER(COLUMN_NAME) IN ('lock_owner', 'lock_expires_at_us', 'lock_fence', 'lock_expire_time', 'version')
  AND {which}
GROUP BY TABLE_SCHEMA, TABLE_NAME
ORDER BY TABLE_SCHEMA, TABLE_NAME
)";

bool has(std::string_view list, std::string_view name) {
  return ("," + std::string(list) + ",").find("," + std::string(name) + ",") != std::string::npos;
}

/// Where a table is looked for: "orders" in the database of the lock tables, "shop.orders" elsewhere.
std::string where_is(std::string_view name) {
  if (name.empty()) return "TABLE_SCHEMA = DATABASE()";
  const auto dot = name.find('.');
  const auto schema =
      dot == std::string_view::npos ? "DATABASE()" : mysql_value_literal(std::string(name.substr(0, dot)));
  const auto table = dot == std::string_view::npos ? name : name.substr(dot + 1);
  return fmt::format("TABLE_SCHEMA = {} AND TABLE_NAME = {}", schema, mysql_value_literal(std::string(table)));
}

}  // namespace

reply mysql_store::query_counts(native& on, store_overview& found) {
  mysql_rows rows;
  auto answer = on.read(sql::in_one_line(sql_.names().expand(sql::counts)), "count", rows);
  if (answer.result != outcome::yes) return answer;
  const auto& row = rows.at(0);
  found.keys = unsigned_of(row.at(0));
  found.held = unsigned_of(row.at(1));
  found.held_dead = unsigned_of(row.at(2));
  found.grants = integer_of(row.at(3));
  found.sessions_alive = unsigned_of(row.at(4));
  found.sessions_dead = unsigned_of(row.at(5));
  return answer;
}

reply mysql_store::query_sessions(native& on, std::size_t limit, std::vector<session_info>& found) {
  mysql_rows rows;
  const auto text = sql::in_one_line(sql_.names().expand(sql::sessions));
  auto answer = on.read(sql::write_values(text, {{"most", std::to_string(limit)}}), "list sessions", rows);
  if (answer.result != outcome::yes) return answer;
  for (const auto& row : rows) {
    const auto left = integer_of(row.at(6));
    found.push_back({.id = id128::parse(row.at(0).value_or("")).value_or(id128{}),
                     .host = row.at(1).value_or(""),
                     .pid = integer_of(row.at(2)),
                     .label = row.at(3).value_or(""),
                     .ttl = microseconds{integer_of(row.at(4))},
                     .age = microseconds{std::max<std::int64_t>(0, integer_of(row.at(5)))},
                     .remaining = microseconds{std::max<std::int64_t>(0, left)},
                     .revoked = integer_of(row.at(7)) != 0,
                     .dead = left <= 0,
                     .locks = unsigned_of(row.at(8))});
  }
  return answer;
}

reply mysql_store::overview(connection& connection, std::size_t limit, store_overview& found) noexcept {
  auto& with = static_cast<native&>(connection);
  return reply_or_in_doubt(with, "overview", [&] {
    store_overview made;
    auto answer = query_counts(with, made);
    if (answer.result != outcome::yes) return answer;
    answer = query_sessions(with, limit, made.sessions);
    if (answer.result != outcome::yes) return answer;
    answer = query_longest(with, limit, made.longest);
    answer.statements = 3;
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply mysql_store::describe_rows(native& on, const std::string& table, const std::string& columns, row_table& found) {
  reply answer;
  answer.statements = 2;
  const bool shared = !has(columns, "lock_expires_at_us");
  found.table = table;
  found.owner = "`lock_owner`";
  found.expires_at = shared ? "`lock_expire_time`" : "`lock_expires_at_us`";
  found.fence = shared ? "`version`" : "`lock_fence`";
  if (has(columns, "version")) found.version = "`version`";
  found.renewal = shared ? row_renewal::column : row_renewal::session;
  answer.result = describe(on.odb(), found, answer.why);
  return answer;
}

reply mysql_store::row_tables(connection& connection, std::string_view name,
                              std::vector<std::shared_ptr<const row_table>>& found) noexcept {
  auto& with = static_cast<native&>(connection);
  return reply_or_in_doubt(with, "find tables", [&] {
    if (auto known = read_tables_id(with); known.result != outcome::yes) return known;
    mysql_rows rows;
    const auto text = sql::expand_any(tables_with_locks, {{"which", where_is(name)}});
    auto answer = with.read(sql::in_one_line(text), "find tables", rows);
    if (answer.result != outcome::yes) return answer;
    if (!name.empty() && (rows.empty() || !has(rows.front().at(2).value_or(""), "lock_owner"))) {
      answer.result = outcome::failed;
      answer.why = make_own_fault(
          fmt::format("table {}: there is no such table with a column lock_owner, or this user may not see it", name));
      return answer;
    }
    for (const auto& row : rows) {
      const auto columns = row.at(2).value_or("");
      if (!has(columns, "lock_owner")) continue;
      auto table = std::make_shared<row_table>();
      const auto full = quote_mysql_name(row.at(0).value_or("")) + "." + quote_mysql_name(row.at(1).value_or(""));
      auto described = describe_rows(with, full, columns, *table);
      answer.statements += described.statements;
      if (described.result == outcome::yes) {
        found.push_back(std::move(table));
      } else if (!name.empty() || described.why.connection) {
        return described;
      }
    }
    return answer;
  });
}

reply mysql_store::held_rows(connection& connection, const std::shared_ptr<const row_table>& table, std::size_t limit,
                             std::vector<held_row>& found) noexcept {
  auto& with = static_cast<native&>(connection);
  return reply_or_in_doubt(with, "look at held rows",
                           [&] { return find_held_rows(with, row_sql_, table, limit, found); });
}

}  // namespace dlock::stores::mysql::lease_table
