// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/parked/waiter_sql.hpp"

#include "stores/sql/named_sql.hpp"
#include "waiter_entity-odb-mysql.hxx"

namespace dlock::stores::mysql::parked {
namespace {

constexpr sql::named_part words[] = {
    // Who has a waiter's bell sleeps on that connection. Nobody: the waiter is gone.
    {"sleeper", "IS_USED_LOCK(CONCAT('dlock.', HEX(w.{waiter.bell})))"},
    // The process of that bell is there: between two sleeps it has only this lock.
    {"waits", "IS_USED_LOCK(CONCAT('dlock.', HEX(w.{waiter.bell}), '.p')) IS NOT NULL"},
    // No process waits that registered before, asleep or just woken.
    {"is_first",
     "NOT EXISTS (SELECT 1 FROM {waiter} e WHERE e.{waiter.lock_key} = w.{waiter.lock_key}"
     " AND e.{waiter.since_us} <= w.{waiter.since_us} AND e.{waiter.bell} <> w.{waiter.bell}"
     " AND IS_USED_LOCK(CONCAT('dlock.', HEX(e.{waiter.bell}), '.p')) IS NOT NULL)"},
};

constexpr const char* fits_sql = R"(
SELECT w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.bell}, w.{waiter.session_id}{and_held}
FROM {waiter} w
WHERE 1 = 0
)";

constexpr const char* enter_sql = R"(
INSERT INTO {waiter} ({waiter.lock_key}, {waiter.since_us}, {waiter.bell}, {waiter.session_id})
SELECT new_key, {now}, :bell, new_session
FROM (:new_waiters) new_waiters
)";

constexpr const char* leave_sql = R"(
DELETE FROM {waiter}
WHERE {waiter.lock_key} IN (:keys)
  AND {waiter.bell} = :bell
)";

// The first of each key is the one to be woken.
constexpr const char* first_sql = R"(
SELECT w.{waiter.lock_key}, {sleeper}
FROM {waiter} w
{with_lock}
WHERE w.{waiter.lock_key} IN (:keys)
  AND w.{waiter.bell} <> :bell
  AND (:held_too OR {is_free})
  AND {sleeper} IS NOT NULL
ORDER BY w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.bell}
)";

constexpr const char* count_sql = R"(
SELECT w.{waiter.lock_key}, COUNT(*)
FROM {waiter} w
WHERE w.{waiter.lock_key} IN (:keys)
  AND {sleeper} IS NOT NULL
GROUP BY w.{waiter.lock_key}
)";

constexpr const char* dead_sql = R"(
SELECT w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.bell}
FROM {waiter} w
WHERE w.{waiter.since_us} <= {now} - 60000000
  AND NOT {waits}
LIMIT 100
)";

constexpr const char* one_dead_sql = R"(
{waiter.lock_key} = :key AND {waiter.since_us} = :since AND {waiter.bell} = :bell
)";

constexpr const char* remove_dead_sql = R"(
DELETE FROM {waiter}
WHERE :which
)";

}  // namespace

void append_literal(std::string& list, const std::string& literal) {
  if (!list.empty()) list += ',';
  list += literal;
}

void add_waiter_names(sql::table_names& to) {
  using traits = odb::access::object_traits_impl<entities::waiter_entity, odb::id_mysql>;
  using waiter = odb::query_columns<entities::waiter_entity, odb::id_mysql, traits>;
  to.add_table("waiter", traits::table_name);
  to.add_column("waiter.lock_key", waiter::place.lock_key.column());
  to.add_column("waiter.since_us", waiter::place.since_us.column());
  to.add_column("waiter.bell", waiter::place.bell.column());
  to.add_column("waiter.session_id", waiter::session_id.column());
  to.add_column("waiter.held", waiter::held.column());
  for (const auto& word : words) to.add_text(std::string(word.name), to.expand(word.text));
}

waiter_sql make_waiter_sql(const sql::table_names& names, const char* look) {
  const auto text = [&](const char* sql) { return sql::in_one_line(names.expand(sql)); };
  return {.table = names.expand("{waiter}"),
          .fits = text(fits_sql),
          .enter = text(enter_sql),
          .leave = text(leave_sql),
          .look = text(look),
          .first = text(first_sql),
          .count = text(count_sql),
          .dead = text(dead_sql),
          .one_dead = text(one_dead_sql),
          .remove_dead = text(remove_dead_sql)};
}

}  // namespace dlock::stores::mysql::parked
