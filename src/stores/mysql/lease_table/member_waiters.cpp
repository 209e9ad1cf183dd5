// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/member_waiters.hpp"

#include "dlock/store_interface/closing_bell.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

// Sent after the change has been committed, so of two members that leave at the same time, the later one sees that none
// is left.
constexpr const char* next_sql = R"(
SELECT {sleeper}, l.{lock.session_id} = {open_id}
FROM {lock} l
JOIN {waiter} w ON w.{waiter.lock_key} = CASE l.{lock.session_id} WHEN {closed_id} THEN :bell ELSE :key END
WHERE l.{lock.lock_key} = :key
  AND l.{lock.session_id} IN ({open_id}, {closed_id})
  AND (l.{lock.session_id} = {open_id} OR NOT EXISTS (SELECT 1 FROM {member} m WHERE m.{member.lock_key} = :key))
  AND w.{waiter.wake_id} <> :wake_id
  AND {sleeper} IS NOT NULL
ORDER BY w.{waiter.since_us}, w.{waiter.wake_id}
LIMIT 1
)";

constexpr const char* behind_sql = R"(
SELECT {sleeper}, 1
FROM {waiter} b
JOIN {waiter} w ON w.{waiter.lock_key} = b.{waiter.lock_key}
WHERE b.{waiter.lock_key} = :key
  AND b.{waiter.wake_id} = :wake_id
  AND (w.{waiter.since_us} > b.{waiter.since_us}
       OR (w.{waiter.since_us} = b.{waiter.since_us} AND w.{waiter.wake_id} > b.{waiter.wake_id}))
  AND {sleeper} IS NOT NULL
ORDER BY w.{waiter.since_us}, w.{waiter.wake_id}
LIMIT 1
)";

constexpr const char* free_units_sql = R"(
SELECT l.{lock.lock_key},
  (SELECT COALESCE(SUM(m.{member.units}), 0) FROM {member} m WHERE m.{member.lock_key} = l.{lock.lock_key})
FROM {lock} l
WHERE l.{lock.lock_key} IN (:keys)
  AND (l.{lock.session_id} = {open_id}
       OR (l.{lock.session_id} = {closed_id} AND l.{lock.acquired_at_us} <= {now} - {closed_for}))
)";

}  // namespace

std::string waiters_for_members::room_sql(const sql::table_names& names) {
  return sql::in_one_line(names.expand(free_units_sql));
}

waiters_for_members::waiters_for_members(const sql::table_names& names)
    : next_(sql::in_one_line(names.expand(next_sql))), behind_(sql::in_one_line(names.expand(behind_sql))) {}

found_waiter waiters_for_members::wake(lease_connection& by, parked::waiter_table& table, const std::string& text,
                                       reply& answer) const noexcept {
  auto found = found_waiter::none;
  static_cast<void>(reply_or_in_doubt(by, "wake", [&] {
    mysql_rows rows;
    fault why;
    ++answer.statements;
    if (by.query(text, "read the waiters", &rows, nullptr, why) != outcome::yes) {
      table.note_unreadable(by, why);
    } else if (!rows.empty()) {
      found = unsigned_of(rows.front().at(1)) != 0 ? found_waiter::of_open_key : found_waiter::of_closed_key;
      ++answer.statements;
      if (table.wake(by, unsigned_of(rows.front().at(0))) && answer.result == outcome::yes) answer.waiters = 1;
    }
    return reply{.result = outcome::yes};
  }));
  return found;
}

found_waiter waiters_for_members::wake_next(lease_connection& by, parked::waiter_table& table, std::string_view key,
                                            reply& answer) const noexcept try {
  const auto text = sql::write_values(next_, {{"key", mysql_literal(key)},
                                              {"bell", mysql_literal(closing_bell(key).view())},
                                              {"wake_id", mysql_literal(table.own())}});
  return wake(by, table, text, answer);
} catch (const std::exception&) {
  return found_waiter::none;  // memory ran out
}

void waiters_for_members::wake_behind(lease_connection& by, parked::waiter_table& table, std::string_view key,
                                      reply& answer) const noexcept try {
  wake(by, table, sql::write_values(behind_, {{"key", mysql_literal(key)}, {"wake_id", mysql_literal(table.own())}}),
       answer);
} catch (const std::exception&) {
  // memory ran out
}

}  // namespace dlock::stores::mysql::lease_table
