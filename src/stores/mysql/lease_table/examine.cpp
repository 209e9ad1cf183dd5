// SPDX-License-Identifier: BSL-1.0
// The lock tables, as `dlock doctor` shows them.
#include <fmt/format.h>

#include <cstdlib>

#include "stores/findings.hpp"
#include "stores/mysql/client/examine.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

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

}  // namespace

reply mysql_store::examine(connection& on, std::vector<store_finding>& out) noexcept {
  auto& with = static_cast<native&>(on);
  return reply_or_in_doubt(with, "examine", [&] {
    auto answer = examine_server(with, client_.settings(), out);
    if (answer.result != outcome::yes) return answer;
    findings found(out);
    const auto ask = [&](const std::string& text, mysql_rows& rows) {
      ++answer.statements;
      answer.result = with.query(sql::in_one_line(text), "examine", &rows, nullptr, answer.why);
      return answer.result == outcome::yes;
    };
    const auto& names = sql_.names();
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

    store_overview all;
    if (answer = query_counts(with, all); answer.result != outcome::yes) return answer;
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
    if (all.held_dead == 0 && all.sessions_dead == 0) {
      found.good("dead holders", "none");
    } else {
      found.note("dead holders",
                 fmt::format("keys of dead sessions: {}, dead sessions: {}", all.held_dead, all.sessions_dead),
                 "A program that asks for such a key gets it at once. Clean-up deletes the rows.",
                 "dlock gc deletes them now.");
    }
    return answer;
  });
}

}  // namespace dlock::stores::mysql::lease_table
