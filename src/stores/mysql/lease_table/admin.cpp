// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/findings.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/rows.hpp"
#include "stores/sql/holder_rows.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

/// `rest`: what follows the SELECT of all locks that are held.
reply query_holders(lease_connection& on, lease_tables& tables, const std::string& rest,
                    std::vector<holder_info>& out) {
  mysql_rows rows;
  auto answer = on.read(sql::in_one_line(tables.sql.names().expand(sql::held_locks + rest)), "list holders", &rows);
  if (answer.result != outcome::yes) return answer;
  const auto not_negative = [](const auto& text) { return microseconds{std::max<std::int64_t>(0, integer_of(text))}; };
  for (const auto& row : rows) {
    out.push_back({.key = row.at(0).value_or(""),
                   .session = id_of(row.at(1).value_or("")),
                   .fence = unsigned_of(row.at(2)),
                   .host = row.at(8).value_or(""),
                   .pid = integer_of(row.at(9)),
                   .label = row.at(10).value_or(""),
                   .kind = integer_of(row.at(5)) != 0 ? lease_kind::session : lease_kind::expiring,
                   .revoked = integer_of(row.at(6)) != 0,
                   .since = not_negative(row.at(3)),  // by a wall clock
                   .remaining = not_negative(row.at(4)),
                   .dead = integer_of(row.at(7)) != 0});
  }
  return answer;
}

constexpr const char* sizes = R"(
SELECT IFNULL(SUM(DATA_LENGTH + INDEX_LENGTH + DATA_FREE), 0)
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE()
  AND TABLE_NAME IN ({lock_table}, {session_table}, {floor_table})
)";

constexpr const char* idle_keys = R"(
SELECT
  COUNT(*),
  IFNULL(SUM(l.{lock.acquired_at_us} + 86400000000 <= {now}), 0)
FROM {lock} l
WHERE l.{lock.session_id} IS NULL
  OR l.{lock.expires_at_us} <= {now}
)";

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

reply query_counts(lease_connection& on, lease_tables& tables, store_overview& found) {
  mysql_rows rows;
  auto answer = on.read(sql::in_one_line(tables.sql.names().expand(sql::counts)), "count", &rows);
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

reply query_sessions(lease_connection& on, lease_tables& tables, std::size_t limit, std::vector<session_info>& found) {
  mysql_rows rows;
  const auto text = sql::in_one_line(tables.sql.names().expand(sql::sessions));
  auto answer = on.read(sql::write_values(text, {{"most", std::to_string(limit)}}), "list sessions", &rows);
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

}  // namespace

reply mysql_admin::inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept {
  return work_on<lease_connection>(connection, "inspect", [&](auto& with) {
    if (key.row != nullptr) return find_row_holder(with, tables_.row_sql, *key.row, found);
    return query_holders(with, tables_, "AND l.{lock.lock_key} = " + mysql_literal(key.resource), found);
  });
}

reply mysql_admin::list(connection& connection, std::string_view after, std::size_t limit,
                        std::vector<holder_info>& found) noexcept {
  return work_on<lease_connection>(connection, "list", [&](auto& with) {
    std::vector<holder_info> made;
    auto answer = query_holders(
        with, tables_,
        fmt::format("AND l.{{lock.lock_key}} > {} ORDER BY l.{{lock.lock_key}} LIMIT {}", mysql_literal(after), limit),
        made);
    if (answer.result == outcome::yes && tables_.settings.wake) answer = tables_.waiters.bells().count(with, made);
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply mysql_admin::waiters(connection& connection, std::string_view key, std::size_t limit,
                           waiter_overview& found) noexcept {
  return work_on<lease_connection>(connection, "list waiters", [&](auto& with) {
    found = {};
    if (!tables_.knows_waiters(with)) return reply{.result = outcome::yes};
    mysql_rows rows;
    const auto text = sql::write_values(tables_.sql.text(text_id::waiters_of_key), {{"key", mysql_literal(key)}});
    auto answer = with.read(text, "list waiters", &rows);
    if (answer.result != outcome::yes)
      return tables_.waiters.bells().note_unreadable(answer.why) ? reply{.result = outcome::yes} : answer;
    waiter_overview made{.known = true, .count = rows.size()};
    for (const auto& row : rows) {
      if (made.first.size() == limit) break;
      made.first.push_back({.host = row.at(1).value_or(""),
                            .pid = integer_of(row.at(2)),
                            .label = row.at(3).value_or(""),
                            .waited = microseconds{std::max<std::int64_t>(0, integer_of(row.at(0)))}});
    }
    found = std::move(made);
    return answer;
  });
}

reply mysql_admin::revoke(connection& connection, const request& key) noexcept {
  return work_on<lease_connection>(connection, "revoke", [&](auto& with) {
    if (key.row != nullptr) return with.change(tables_.row_sql.revoke(*key.row), "revoke");
    const auto text = sql::in_one_line(tables_.sql.names().expand(sql::source_of(statement_id::revoke)));
    return with.change(sql::write_values(text, {{"key", mysql_literal(key.resource)}}), "revoke");
  });
}

reply mysql_admin::overview(connection& connection, std::size_t limit, store_overview& found) noexcept {
  return work_on<lease_connection>(connection, "overview", [&](auto& with) {
    store_overview made;
    auto answer = query_counts(with, tables_, made);
    if (answer.result != outcome::yes) return answer;
    answer = query_sessions(with, tables_, limit, made.sessions);
    if (answer.result != outcome::yes) return answer;
    answer =
        query_holders(with, tables_, fmt::format("ORDER BY l.{{lock.acquired_at_us}} LIMIT {}", limit), made.longest);
    answer.statements = 3;
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply mysql_admin::row_tables(connection& connection, std::string_view name,
                              std::vector<std::shared_ptr<const row_table>>& found) noexcept {
  return work_on<lease_connection>(connection, "find tables", [&](auto& with) {
    if (auto known = tables_.read_id(with); known.result != outcome::yes) return known;
    mysql_rows rows;
    const auto text = sql::expand_any(tables_with_locks, {{"which", where_is(name)}});
    auto answer = with.read(sql::in_one_line(text), "find tables", &rows);
    if (answer.result != outcome::yes) return answer;
    if (!name.empty() && (rows.empty() || !has(rows.front().at(2).value_or(""), "lock_owner"))) {
      return refuse(
          fmt::format("table {}: there is no such table with a column lock_owner, or this user may not see it", name));
    }
    for (const auto& row : rows) {
      const auto columns = row.at(2).value_or("");
      if (!has(columns, "lock_owner")) continue;
      const auto full = quote_mysql_name(row.at(0).value_or("")) + "." + quote_mysql_name(row.at(1).value_or(""));
      auto table = std::make_shared<row_table>(
          sql::make_row_table(full, '`', has(columns, "lock_expires_at_us"), has(columns, "version")));
      reply described{.statements = 2};
      described.result = describe_table(with.handle(), *table, described.why);
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

reply mysql_admin::held_rows(connection& connection, const std::shared_ptr<const row_table>& table, std::size_t limit,
                             std::vector<held_row>& found) noexcept {
  return work_on<lease_connection>(connection, "look at held rows", [&](auto& with) {
    return find_held_rows(with, tables_.row_sql, table, limit, found);
  });
}

reply mysql_admin::examine(connection& on, std::vector<store_finding>& out) noexcept {
  return work_on<lease_connection>(on, "examine", [&](auto& with) {
    auto answer = examine_server(with, tables_.client.settings(), out);
    if (answer.result != outcome::yes) return answer;
    findings found(out);
    const auto ask = [&](const std::string& text, mysql_rows& rows) {
      ++answer.statements;
      answer.result = with.query(sql::in_one_line(text), "examine", &rows, nullptr, answer.why);
      return answer.result == outcome::yes;
    };
    const auto& names = tables_.sql.names();
    mysql_rows rows;
    if (!ask(fmt::format("SELECT version, migration FROM {} WHERE name='{}'", names.quoted_table("schema_version"),
                         sql::table_names::schema),
             rows))
      return answer;
    const auto version = rows.empty() ? std::string("none") : rows[0].at(0).value_or("");
    if (rows.empty() || rows[0].at(1) != "0") {
      found.problem("tables", fmt::format("version {}, a migration was not finished", version),
                    "No program can work with them.", "Start one program with schema=create.");
    } else {
      found.good("tables", fmt::format("version {}", version));
    }
    if (tables_.settings.wake) {
      if (answer = tables_.waiters.bells().examine_table(with, out); answer.result != outcome::yes) return answer;
    }

    store_overview all;
    if (answer = query_counts(with, tables_, all); answer.result != outcome::yes) return answer;
    if (!ask(sql::expand_any(sizes, {{"lock_table", mysql_value_literal(names.table("lock"))},
                                     {"session_table", mysql_value_literal(names.table("session"))},
                                     {"floor_table", mysql_value_literal(names.table("floor"))}}),
             rows))
      return answer;
    const double megabytes = static_cast<double>(unsigned_of(rows.at(0).at(0))) / 1e6;
    if (!ask(names.expand(idle_keys), rows)) return answer;
    const auto free = unsigned_of(rows.at(0).at(0)), old = unsigned_of(rows.at(0).at(1));
    const auto value = fmt::format("keys: {}, held: {}, sessions: {}, {:.1f} MB", all.keys, all.held,
                                   all.sessions_alive + all.sessions_dead, megabytes);
    if (old > 0 && old * 2 > all.keys) {
      found.warning("size", value, fmt::format("{} free keys were not granted for a day, so no clean-up runs.", old),
                    "Let one program keep cleanup_interval at its default, or run dlock gc.");
    } else if (free > 100'000) {
      found.note("size", value, fmt::format("{} keys are free and wait for clean-up.", free),
                 "Where keys come once and never again, shorten key_retention to an hour.");
    } else {
      found.good("size", value);
    }
    sql::examine_dead_holders(all, found);
    return answer;
  });
}

}  // namespace dlock::stores::mysql::lease_table
