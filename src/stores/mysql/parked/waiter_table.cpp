// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/parked/waiter_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dlock/store_interface/linger_bell.hpp"
#include "stores/findings.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/parked/parked_connection.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::mysql::parked {
namespace {

constexpr sql::named_part words[] = {
    // The connection that sleeps with this process's wake id. A table of its own, so that the server finds that out
    // before it reads rows: a release that comes after that wakes the connection.
    {"me", "(SELECT IS_USED_LOCK(CONCAT('dlock.', HEX(:wake_id))) AS asleep) me"},
    {"me_asleep", "me.asleep"},
    // The connection that sleeps with the waiter's wake id, or NULL if the waiter is gone.
    {"sleeper", "IS_USED_LOCK(CONCAT('dlock.', HEX(w.{waiter.wake_id})))"},
    // The process of that wake id exists: between two sleeps it has only this lock.
    {"waits", "IS_USED_LOCK(CONCAT('dlock.', HEX(w.{waiter.wake_id}), '.p')) IS NOT NULL"},
    // No process that registered earlier waits, asleep or just woken.
    {"is_first",
     "NOT EXISTS (SELECT 1 FROM {waiter} e WHERE e.{waiter.lock_key} = w.{waiter.lock_key}"
     " AND e.{waiter.since_us} <= w.{waiter.since_us} AND e.{waiter.wake_id} <> w.{waiter.wake_id}"
     " AND IS_USED_LOCK(CONCAT('dlock.', HEX(e.{waiter.wake_id}), '.p')) IS NOT NULL)"},
};

constexpr auto look_at_it = "check the waiter table";

constexpr const char* fits_sql = R"(
SELECT w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.wake_id}, w.{waiter.session_id}{and_held}
FROM {waiter} w
WHERE 1 = 0
)";

constexpr const char* fits_without_held_sql = R"(
SELECT w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.wake_id}, w.{waiter.session_id}
FROM {waiter} w
WHERE 1 = 0
)";

constexpr const char* enter_sql = R"(
INSERT INTO {waiter} ({waiter.lock_key}, {waiter.since_us}, {waiter.wake_id}, {waiter.session_id})
SELECT new_key, LAST_INSERT_ID({now}) - waited, :wake_id, new_session
FROM (:new_waiters) new_waiters
WHERE IS_USED_LOCK(CONCAT('dlock.', HEX(:wake_id))) = :sleeper
)";

constexpr const char* leave_sql = R"(
DELETE FROM {waiter}
WHERE {waiter.lock_key} IN (:keys)
  :and_since
  AND {waiter.wake_id} = :wake_id
)";

// So that the server finds the rows of a process by their whole key. Without it, it reads all rows of waiters for these
// keys, and locks those that a DELETE reads.
constexpr const char* and_since_sql = "AND {waiter.since_us} IN (:since)";

constexpr const char* look_for_free_sql = R"(
SELECT w.{waiter.lock_key}
FROM {waiter} w
{with_lock}
WHERE w.{waiter.wake_id} = :wake_id
  AND {is_free}
)";

// The first waiter of each key, which is to be woken.
constexpr const char* first_sql = R"(
SELECT w.{waiter.lock_key}, {sleeper}
FROM {waiter} w
{with_lock}
WHERE w.{waiter.lock_key} IN (:keys)
  AND w.{waiter.wake_id} <> :wake_id
  AND (:held_too OR {is_free})
  AND {sleeper} IS NOT NULL
ORDER BY w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.wake_id}
)";

// Which of these keys other processes wait for, asleep or just woken.
constexpr const char* waited_for_sql = R"(
SELECT DISTINCT w.{waiter.lock_key}
FROM {waiter} w
WHERE w.{waiter.lock_key} IN (:keys)
  AND w.{waiter.wake_id} <> :wake_id
  AND {waits}
ORDER BY w.{waiter.lock_key}
)";

constexpr const char* count_sql = R"(
SELECT w.{waiter.lock_key}, COUNT(*)
FROM {waiter} w
WHERE w.{waiter.lock_key} IN (:keys)
  AND {waits}
GROUP BY w.{waiter.lock_key}
)";

constexpr const char* dead_sql = R"(
SELECT w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.wake_id}
FROM {waiter} w
WHERE w.{waiter.since_us} <= {now} - 60000000
  AND NOT {waits}
LIMIT 100
)";

constexpr const char* one_dead_sql = R"(
{waiter.lock_key} = :key AND {waiter.since_us} = :since AND {waiter.wake_id} = :wake_id
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
  to.add_table("waiter", {"lock_key", "since_us", "wake_id", "session_id", "held"});
  for (const auto& word : words) to.add_text(std::string(word.name), to.expand(word.text));
}

waiter_sql make_waiter_sql(const sql::table_names& names, const char* look) {
  const auto text = [&](const char* sql) { return sql::in_one_line(names.expand(sql)); };
  return {.table = names.expand("{waiter}"),
          .fits = text(fits_sql),
          .fits_without_held = text(fits_without_held_sql),
          .enter = text(enter_sql),
          .leave = text(leave_sql),
          .and_since = text(and_since_sql),
          .look = text(look),
          .look_for_free = text(look_for_free_sql),
          .first = text(first_sql),
          .waited_for = text(waited_for_sql),
          .count = text(count_sql),
          .dead = text(dead_sql),
          .one_dead = text(one_dead_sql),
          .remove_dead = text(remove_dead_sql)};
}

bool waiter_table::note_unreadable(mysql_connection& by, const fault& why) {
  if (!lacks_table(by, why)) return false;
  unreadable_ = true;
  return true;
}

bool waiter_table::keeps_failing(mysql_connection& by, const reply& said) {
  if (said.result != outcome::failed || !lasts(said.why)) return false;
  note_unreadable(by, said.why);
  return true;
}

bool waiter_table::lacks_table(mysql_connection& by, const fault& why) {
  const auto advice = remedy(by, why);
  if (advice.empty()) return false;
  if (!said_lacks_.exchange(true)) says_(fmt::format("{}. {}", why.text, advice));
  return true;
}

std::string waiter_table::remedy(mysql_connection& by, const fault& why) const {
  switch (static_cast<unsigned>(why.native)) {
    case mysql_refused_by_router: return "A proxy shares connections between clients.";
    case 1142:
    case 1143: return fmt::format("GRANT SELECT, INSERT, UPDATE, DELETE ON {} to the user.", sql_.table);
    case mysql_no_such_table:
    case mysql_no_such_column: return remedy_of_missing(by);
    default: return {};
  }
}

std::string waiter_table::remedy_of_missing(mysql_connection& by) const {
  fault lacks;
  if (fits_table(by, lacks)) return {};  // the error is about a table or column of the application
  if (lacks.native == static_cast<int>(mysql_no_such_table))
    return fmt::format("Make the table {} by the statement that dlock schema prints.", sql_.table);
  if (lacks.native != static_cast<int>(mysql_no_such_column)) return {};
  if (by.query(sql_.fits_without_held, look_at_it, nullptr, nullptr, lacks) == outcome::yes)
    return fmt::format("ALTER TABLE {} ADD COLUMN `held` MEDIUMTEXT CHARACTER SET ascii NULL", sql_.table);
  return fmt::format("Drop the table {}, and make it again by the statement that dlock schema prints.", sql_.table);
}

bool waiter_table::fits_table(mysql_connection& by, fault& why) const {
  return by.query(sql_.fits, look_at_it, nullptr, nullptr, why) == outcome::yes;
}

void waiter_table::check_table(mysql_connection& by) {
  fault why;
  if (!fits_table(by, why)) note_unreadable(by, why);
}

reply waiter_table::examine_table(mysql_connection& by, std::vector<store_finding>& found) const {
  reply answer;
  if (fits_table(by, answer.why)) {
    findings(found).good("waiter table", sql_.table);
  } else if (auto advice = remedy(by, answer.why); !advice.empty()) {
    findings(found).warning("waiter table", answer.why.text,
                            "No release wakes a waiter: waiters poll, keep no order, and find no cycles of processes.",
                            std::move(advice));
  } else {
    return answer;
  }
  return {.result = outcome::yes};
}

bool waiter_table::wake(mysql_connection& by, std::uint64_t sleeper) noexcept {
  return is_woken(kill(by, by.neighbour(sleeper), kill_what::query));
}

bool waiter_table::wake_found(mysql_connection& by) noexcept { return is_woken(kill_last_insert_id(by)); }

bool waiter_table::is_woken(kill_result said) noexcept {
  if (said == kill_result::refused && !said_refused_.exchange(true)) {
    says_("a release may not wake a waiter whose connection is another user's");
  }
  return said == kill_result::done;
}

bool waiter_table::can_wake(const mysql_connection& by) {
  if (by.behind_proxy() && !said_proxy_.exchange(true)) says_(std::string(no_wake_by_proxy));
  return !by.behind_proxy();
}

void waiter_table::wake_first(mysql_connection& by, std::span<const request> requests, std::span<reply> replies,
                              bool held_too) noexcept {
  static_cast<void>(reply_or_in_doubt(by, "wake", [&] {
    std::string keys;
    for (std::size_t i = 0; i != requests.size(); ++i) {
      if (replies[i].result == outcome::yes && looks(by, requests[i])) {
        append_literal(keys, mysql_literal(requests[i].resource));
      }
    }
    if (!keys.empty()) wake_first(by, keys, requests, replies, held_too);
    return reply{};
  }));
}

void waiter_table::wake_first(mysql_connection& by, const std::string& keys, std::span<const request> requests,
                              std::span<reply> replies, bool held_too) {
  mysql_rows rows;
  fault why;
  ++replies.front().statements;
  const auto text = sql::write_values(
      sql_.first, {{"wake_id", mysql_literal(own())}, {"keys", keys}, {"held_too", held_too ? "1" : "0"}});
  if (by.query(text, "read the waiters", &rows, nullptr, why) != outcome::yes) {
    note_unreadable(by, why);
    return;
  }
  for (std::size_t i = 0; i != requests.size(); ++i) {
    const auto first =
        std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.at(0) == requests[i].resource; });
    if (first == rows.end()) continue;
    ++replies.front().statements;
    if (wake(by, unsigned_of(first->at(1)))) replies[i].waiters = 1;
  }
}

reply waiter_table::others_first(mysql_connection& by, std::string_view key, std::uint64_t fence, bool registered,
                                 bool& others) {
  reply answer;
  unsigned statements = 0;
  for (;;) {
    mysql_rows rows;
    answer = by.read(sql::write_values(sql_.others_first, {{"key", mysql_literal(key)},
                                                           {"wake_id", mysql_literal(own())},
                                                           {"registered", registered ? "1" : "0"}}),
                     "find waiters", &rows);
    ++statements;
    if (answer.result != outcome::yes) break;
    others = !rows.empty();
    if (!others) break;
    const auto sleeper = unsigned_of(rows.at(0).at(0));
    const auto since = rows.at(0).at(1).value_or("0"), wake_id = rows.at(0).at(2).value_or("");
    if (!turns_.is_over(key, fence, since + wake_id, waiter_turns::clock::now())) {
      // The release of the key may have woken no waiter.
      if (sleeper != 0 && can_wake(by)) {
        ++statements;
        wake(by, sleeper);
      }
      break;
    }
    const auto row = sql::write_values(
        sql_.one_dead, {{"key", mysql_literal(key)}, {"since", since}, {"wake_id", mysql_literal(wake_id)}});
    ++statements;
    if (by.query(sql::write_values(sql_.remove_dead, {{"which", row}}), "pass over a waiter", nullptr, nullptr,
                 answer.why) != outcome::yes) {
      answer.result = outcome::failed;
      break;
    }
  }
  if (answer.result == outcome::unknown) answer.result = outcome::failed;  // what is not done is done another time
  answer.statements = statements;
  return answer;
}

reply waiter_table::waited_for(mysql_connection& by, std::span<const request> keys, std::span<reply> replies) {
  reply answer{.statements = 0};
  if (!can_read(by) || !can_wake(by)) {
    answer.why.text = by.sync_prefix().empty() ? "no process can be registered as a waiter here"
                                               : "on a Galera cluster no process is registered as a waiter";
    return answer;
  }
  std::string names;
  for (const auto& each : keys) append_literal(names, mysql_literal(each.resource));
  mysql_rows rows;
  answer = by.read(sql::write_values(sql_.waited_for, {{"wake_id", mysql_literal(own())}, {"keys", names}}),
                   "find waiters", &rows);
  if (answer.result != outcome::yes) {
    note_unreadable(by, answer.why);
    return answer;
  }
  std::size_t at = 0;
  for (const auto& row : rows) {  // both are in the order of the keys
    while (at != keys.size() && keys[at].resource != row.at(0).value_or("")) ++at;
    if (at == keys.size()) break;
    replies[at].waiters = 1;
  }
  return answer;
}

void waiter_table::ring(mysql_connection& by, std::span<const request> polls, std::span<reply> replies) noexcept {
  static_cast<void>(reply_or_in_doubt(by, "wake", [&] {
    std::string bells;
    for (std::size_t i = 0; i != polls.size(); ++i) {
      if (!rings_holder(polls[i], replies[i]) || !can_read(by) || !can_wake(by)) continue;
      append_literal(bells, mysql_literal(linger_bell(replies[i].holder.holder).view()));
    }
    if (bells.empty()) return reply{};
    mysql_rows rows;
    fault why;
    ++replies.front().statements;
    const auto text =
        sql::write_values(sql_.first, {{"wake_id", mysql_literal(own())}, {"keys", bells}, {"held_too", "1"}});
    if (by.query(text, "read the waiters", &rows, nullptr, why) != outcome::yes) {
      note_unreadable(by, why);
      return reply{};
    }
    for (const auto& row : rows) {  // one for each bell
      ++replies.front().statements;
      wake(by, unsigned_of(row.at(1)));
    }
    return reply{};
  }));
}

reply waiter_table::count(mysql_connection& by, std::vector<holder_info>& of) {
  if (of.empty() || !can_read(by)) return {.result = outcome::yes};
  std::string keys;
  for (const auto& each : of) append_literal(keys, mysql_literal(each.key));
  mysql_rows rows;
  auto answer = by.read(sql::write_values(sql_.count, {{"keys", keys}}), "count the waiters", &rows);
  if (answer.result != outcome::yes) return note_unreadable(by, answer.why) ? reply{.result = outcome::yes} : answer;
  answer.statements = 2;
  for (auto& each : of) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.at(0) == each.key; });
    each.waiters = row == rows.end() ? 0 : unsigned_of(row->at(1));
  }
  return answer;
}

}  // namespace dlock::stores::mysql::parked
