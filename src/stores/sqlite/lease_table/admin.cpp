// SPDX-License-Identifier: BSL-1.0

/// Operators' queries that only SQLite has.

#include "base/text.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

constexpr const char* names_of_sessions = R"(
SELECT s.{session.id}, s.{session.host}, s.{session.pid}, s.{session.label}
FROM {session} s
WHERE s.{session.expires_at_us} > :now
)";

// SQLite compares names without regard to case.
constexpr const char* tables_with_columns = R"(
SELECT '', m.name, MAX(lower(p.name) = 'lock_expires_at_us'), MAX(lower(p.name) = 'version')
FROM sqlite_master m
JOIN pragma_table_info(m.name) p
WHERE m.type = 'table'
  AND (:name = '' OR lower(m.name) = lower(:name))
GROUP BY m.name
HAVING MAX(lower(p.name) = 'lock_owner')
ORDER BY m.name
)";

}  // namespace

reply sqlite_admin::count_waiters(sql::sql_connection& /*on*/, std::vector<holder_info>& of) {
  if (file_.knows_waiters()) waiters_.count(of);
  return {.result = outcome::yes};
}

sql::lease_admin::table_question sqlite_admin::tables_with_locks(std::string_view name) const {
  return {tables_with_columns, {{"name", name}}};
}

reply sqlite_admin::describe(sql::sql_connection& on, row_table& table) const {
  reply described;
  described.result = describe_table(static_cast<lease_connection&>(on).handle(), file_, table, described.why);
  return described;
}

reply sqlite_admin::waiters(connection& connection, std::string_view key, std::size_t limit,
                            waiter_overview& found) noexcept {
  return sql::attempt(connection, "list waiters", [&](sql::sql_connection& on) {
    found = {};
    if (!file_.knows_waiters()) return reply{.result = outcome::yes};
    const auto all = waiters_.of_key(key);
    waiter_overview made{.known = true, .count = all.size()};
    for (const auto& each : all) {
      if (made.first.size() == limit) break;
      made.first.push_back({.waited = std::chrono::duration_cast<microseconds>(each.waited)});
    }
    sql::sql_rows rows;
    reply answer{.result = outcome::yes};
    if (!made.first.empty()) answer = on.read(text(names_of_sessions, "list waiters"), {}, rows);
    for (const auto& row : rows) {
      for (std::size_t i = 0; i != made.first.size(); ++i) {
        if (all[i].session != row.id(0)) continue;
        made.first[i].host = row.text(1);
        made.first[i].pid = row.integer(2);
        made.first[i].label = row.text(3);
      }
    }
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply sqlite_admin::name_sessions(connection& connection, std::map<id128, std::string>& sessions) noexcept {
  return sql::attempt(connection, "name sessions", [&](sql::sql_connection& on) {
    sql::sql_rows rows;
    auto answer = on.read(text(names_of_sessions, "name sessions"), {}, rows);
    for (const auto& row : rows) {
      const auto found = sessions.find(row.id(0));
      if (found != sessions.end()) found->second = detail::describe_process(row.text(1), row.integer(2), row.text(3));
    }
    return answer;
  });
}

}  // namespace dlock::stores::sqlite::lease_table
