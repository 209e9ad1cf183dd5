// SPDX-License-Identifier: BSL-1.0

/// Operators' queries that only MySQL has.

#include <fmt/format.h>

#include "stores/mysql/client/check.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

constexpr const char* sizes = R"(
SELECT IFNULL(SUM(DATA_LENGTH + INDEX_LENGTH + DATA_FREE), 0)
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE()
  AND TABLE_NAME IN (:lock_table, :session_table, :floor_table)
)";

// The columns are those of dlock::lock_columns and dlock::expiring_lock_columns.
constexpr const char* tables_with_columns = R"(
SELECT
  TABLE_SCHEMA, TABLE_NAME,
  MAX(LOWER(COLUMN_NAME) = 'lock_expires_at_us'),
  MAX(LOWER(COLUMN_NAME) = 'version')
FROM information_schema.COLUMNS
WHERE LOWER(COLUMN_NAME) IN ('lock_owner', 'lock_expires_at_us', 'version')
  AND {which}
GROUP BY TABLE_SCHEMA, TABLE_NAME
HAVING MAX(LOWER(COLUMN_NAME) = 'lock_owner')
ORDER BY TABLE_SCHEMA, TABLE_NAME
)";

}  // namespace

reply mysql_admin::count_waiters(sql::sql_connection& on, std::vector<holder_info>& of) {
  if (!tables_.settings.wake) return {.result = outcome::yes};
  return tables_.waiters.table().count(static_cast<lease_connection&>(on), of);
}

reply mysql_admin::read_tables_id(sql::sql_connection& on) {
  return tables_.read_id(static_cast<lease_connection&>(on));
}

/// Looks for "orders" in the database of the lock tables, and for "shop.orders" in shop.
sql::lease_admin::table_question mysql_admin::tables_with_locks(std::string_view name) const {
  const auto all = [](std::string_view which) { return sql::expand_any(tables_with_columns, {{"which", which}}); };
  if (name.empty()) return {all("TABLE_SCHEMA = DATABASE()")};
  const auto dot = name.find('.');
  if (dot == std::string_view::npos)
    return {all("TABLE_SCHEMA = DATABASE() AND TABLE_NAME = :table"), {{"table", name}}};
  return {all("TABLE_SCHEMA = :schema AND TABLE_NAME = :table"),
          {{"schema", name.substr(0, dot)}, {"table", name.substr(dot + 1)}}};
}

reply mysql_admin::describe(sql::sql_connection& on, row_table& table) const {
  reply described{.statements = 2};
  described.result = describe_table(static_cast<lease_connection&>(on).handle(), table, described.why);
  return described;
}

reply mysql_admin::waiters(connection& connection, std::string_view key, std::size_t limit,
                           waiter_overview& found) noexcept {
  return sql::attempt<lease_connection>(connection, "list waiters", [&](lease_connection& on) {
    found = {};
    if (!tables_.knows_waiters(on)) return reply{.result = outcome::yes};
    sql::sql_rows rows;
    auto answer = static_cast<sql::sql_connection&>(on).read(
        {tables_.sql.text(text_id::waiters_of_key), "list waiters"}, {{"key", sql::sql_bytes{key}}}, rows);
    if (answer.result != outcome::yes)
      return tables_.waiters.table().note_unreadable(on, answer.why) ? reply{.result = outcome::yes} : answer;
    found = {.known = true, .count = rows.size()};
    for (const auto& row : rows) {
      if (found.first.size() == limit) break;
      found.first.push_back({.host = std::string(row.text(1)),
                             .pid = row.integer(2),
                             .label = std::string(row.text(3)),
                             .waited = row.time(0)});
    }
    return answer;
  });
}

reply mysql_admin::read_size(sql::sql_connection& on, std::string& size) const {
  const auto lock = names().table("lock"), session = names().table("session"), floor = names().table("floor");
  sql::sql_rows rows;
  auto answer =
      on.read(text(sizes, "examine"), {{"lock_table", lock}, {"session_table", session}, {"floor_table", floor}}, rows);
  if (answer.result == outcome::yes)
    size = fmt::format(", {:.1f} MB", static_cast<double>(rows.at(0).natural(0)) / 1e6);
  return answer;
}

reply mysql_admin::examine(connection& connection, std::vector<store_finding>& out) noexcept {
  return sql::attempt<lease_connection>(connection, "examine", [&](lease_connection& on) {
    findings found(out);
    auto answer = examine_server(on, tables_.client.settings(), out);
    if (answer.result == outcome::yes) answer = examine_tables(on, found);
    if (answer.result == outcome::yes && tables_.settings.wake) answer = tables_.waiters.table().examine_table(on, out);
    return answer.result == outcome::yes ? examine_keys(on, found) : answer;
  });
}

}  // namespace dlock::stores::mysql::lease_table
