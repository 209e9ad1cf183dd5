// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/sql.hpp"

#include <iterator>
#include <utility>

namespace dlock::stores::mysql::lease_table {
namespace {

// The rules are those of docs/protocol.md, which has the same statements.

// A server that has become a replica still lets privileged users write, so takes and renewals check that. They compare
// it as text, because newer servers have words for the variable's values.
constexpr sql::named_part words[] = {
    {"now", server_clock},
    {"next_fence", "LAST_INSERT_ID({lock.fence} + 1)"},
    {"reserved_fence", "LAST_INSERT_ID({lock.fence} + :count)"},
    {"first_fence", "LAST_INSERT_ID({floor.fence} + 1)"},
    {"unverified", ", {lock.verified_by} = 0"},
    {"only_primary", "AND CONCAT(@@global.read_only) IN ('0', 'OFF')"},
    {"lock_floor", "LOCK IN SHARE MODE"},
    {"returning", ""},
    {"greatest", "GREATEST"},
    {"if", "IF"},
    {"seen_expiry",
     "l.{lock.expires_at_us} IS NULL, s.{session.id} IS NULL, "
     "IFNULL(l.{lock.expires_at_us}, s.{session.expires_at_us}) - {now}"},
    {"boot", "''"},
    {"connection", "CONNECTION_ID()"},
    {"other_boot", ""},
    {"wide_fence", "CAST(h.fence AS DECIMAL(30))"},
    // For the condition of a release: LAST_INSERT_ID returns the first waiter, or no_waiter. It reads without locks.
    {"find_waiter",
     "(SELECT LAST_INSERT_ID(COALESCE(("
     "SELECT {sleeper} "
     "FROM {waiter} w "
     "WHERE w.{waiter.lock_key} = :key AND w.{waiter.wake_id} <> :wake_id AND {sleeper} IS NOT NULL "
     "ORDER BY w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.wake_id} "
     "LIMIT 1), 9223372036854775807))) IS NOT NULL"},
    {"and_held", ", w.{waiter.held}"},
    {"with_lock", "LEFT JOIN {lock} l ON l.{lock.lock_key} = w.{waiter.lock_key}"},
    // The beginnings of earlier waits for the key, in their order.
    {"earlier",
     "SELECT e.{waiter.since_us} FROM {waiter} e "
     "WHERE e.{waiter.lock_key} = w.{waiter.lock_key} AND e.{waiter.since_us} < w.{waiter.since_us} "
     "ORDER BY e.{waiter.lock_key}, e.{waiter.since_us}"},
    {"is_free", "(l.{lock.lock_key} IS NOT NULL AND l.{lock.session_id} IS NULL)"},
    // The waiters that come first in the order of the waiter table. A process that is registered itself counts from its
    // own row.
    {"earlier_waiters",
     "FROM {waiter} w "
     "WHERE w.{waiter.lock_key} = :key AND w.{waiter.wake_id} <> :wake_id "
     "AND {waits} "
     "AND NOT (:registered AND EXISTS ("
     "SELECT 1 FROM {waiter} m WHERE m.{waiter.lock_key} = :key AND m.{waiter.wake_id} = :wake_id "
     "AND (m.{waiter.since_us} < w.{waiter.since_us} "
     "OR (m.{waiter.since_us} = w.{waiter.since_us} AND m.{waiter.wake_id} < w.{waiter.wake_id}))))"},
};

// The rows that a batch changes if the server can skip locked rows: those that this statement itself could lock, so
// that it waits for none. The limit keeps the sub-query a table of its own, which the server reads first. It selects a
// column beside the key, because otherwise the server may read the whole index instead of these rows, and lock other
// rows on its way.
constexpr const char* unlocked_rows = R"((
  SELECT {lock.lock_key} AS unlocked_key, {lock.fence} AS unlocked_fence
  FROM {lock} FORCE INDEX (PRIMARY)
  WHERE {lock.lock_key} IN (:keys)
  LIMIT 1000000
  FOR UPDATE SKIP LOCKED) unlocked
STRAIGHT_JOIN {lock} FORCE INDEX (PRIMARY) ON {lock.lock_key} = unlocked_key)";

// Many keys by one statement. Rule 1: as for one key, each row is judged by its own columns when it is locked. All new
// keys get the same first fence; if one exists already, the insert fails for all.
constexpr sql::named_part batch_words[] = {
    {"row", "{lock.lock_key} IN (:keys)"},
    {"nonce", "CASE {lock.lock_key} :nonces END"},
    {"my_fence", "CASE {lock.lock_key} :fences END"},
    {"new_key", "new_key"},
    {"new_nonce", "new_nonce"},
    {"new_keys", "CROSS JOIN (:new_keys) new_keys"},
    {"seen", "l.{lock.lock_key}, {seen_holder}"},
};

struct lock_text {
  text_id id;
  sql::lock_statement which;
  bool of_many;
};

constexpr lock_text lock_texts[] = {
    {text_id::batch_take, sql::lock_statement::take, true},
    {text_id::batch_insert, sql::lock_statement::insert, true},
    {text_id::batch_release, sql::lock_statement::release, true},
    {text_id::batch_cancel, sql::lock_statement::cancel, true},
    {text_id::batch_pass_on, sql::lock_statement::pass_on, true},
    {text_id::batch_poll, sql::lock_statement::poll, true},
    {text_id::granted_fence, sql::lock_statement::granted_fence, false},
    {text_id::ask_for_row, sql::lock_statement::ask_for_row, false},
};

struct text_source {
  text_id id;
  const char* sql;
};

constexpr text_source texts[] = {
    {text_id::batch_read, R"(
SELECT {lock.lock_key}, {lock.session_id} = :session, {lock.session_id} IS NULL, {lock.nonce}, {lock.fence}
FROM {lock}
WHERE {lock.lock_key} IN (:keys)
)"},

    // Rule 13: the connection whose transaction verified a lease, and the number of verifications.
    {text_id::verifiers, R"(
SELECT {lock.verified_by}, {lock.verifies}
FROM {lock}
WHERE {lock.lock_key} = :key
)"},

    // Follows a take or a take-over that lets others go first.
    {text_id::after_others, "AND NOT EXISTS (SELECT 1 {earlier_waiters})"},

    {text_id::waiters_of_key, R"(
SELECT {now} - w.{waiter.since_us}, IFNULL(s.{session.host}, ''), IFNULL(s.{session.pid}, 0), IFNULL(s.{session.label}, '')
FROM {waiter} w
LEFT JOIN {session} s ON s.{session.id} = w.{waiter.session_id}
WHERE w.{waiter.lock_key} = :key
  AND {waits}
ORDER BY w.{waiter.since_us}, w.{waiter.wake_id}
)"},

};
static_assert(std::size(lock_texts) + std::size(texts) == static_cast<std::size_t>(text_id::count_));

// Writes what threads of this process hold while they wait for the key.
constexpr const char* set_held_sql = R"(
UPDATE {waiter}
SET {waiter.held} = CONCAT(:since, {now}, :held)
WHERE {waiter.lock_key} = :key
  AND {waiter.wake_id} = :wake_id
)";

constexpr const char* nested_sql = R"(
SELECT
  w.{waiter.wake_id}, w.{waiter.lock_key}, w.{waiter.held}, s.{session.host}, s.{session.pid}, s.{session.label}, {sleeper}
FROM {waiter} w
LEFT JOIN {session} s ON s.{session.id} = w.{waiter.session_id}
WHERE w.{waiter.held} IS NOT NULL
  AND {waits}
)";

// A key without a row is free, and so may be a row of the application.
constexpr const char* look_for_free_sql = R"(
SELECT w.{waiter.lock_key}
FROM {waiter} w
{with_lock}
WHERE w.{waiter.wake_id} = :wake_id
  AND l.{lock.session_id} IS NULL
)";

constexpr const char* others_first_sql = R"(
SELECT {sleeper}, w.{waiter.since_us}, w.{waiter.wake_id} {earlier_waiters}
ORDER BY w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.wake_id}
LIMIT 1
)";

// Selects the grants of living holders.
constexpr const char* present_grants_sql = R"(
SELECT l.{lock.lock_key}, l.{lock.session_id}, l.{lock.fence}
FROM {lock} l
JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE l.{lock.lock_key} IN (:keys)
  AND s.{session.expires_at_us} > {now}
)";

// A key without a row is free.
constexpr const char* look_sql = R"(
SELECT
  w.{waiter.lock_key},
  {me_asleep},
  l.{lock.session_id} IS NULL,
  IF(l.{lock.expires_at_us} IS NULL, s.{session.id} IS NULL OR s.{session.expires_at_us} <= {now},
     l.{lock.expires_at_us} <= {now}),
  l.{lock.fence},
  l.{lock.session_id} IS NULL AND {is_first},
  ({earlier} LIMIT 1) IS NOT NULL AND ({earlier} LIMIT 1 OFFSET 1) IS NULL
FROM {me} CROSS JOIN {waiter} w
LEFT JOIN ({holders}) ON l.{lock.lock_key} = w.{waiter.lock_key}
WHERE w.{waiter.lock_key} IN (:keys)
  :and_since
  AND w.{waiter.wake_id} = :wake_id
)";

}  // namespace

sql::dictionary key_words(const sql::table_names& names) { return sql::key_dictionary({words}, names); }

void lease_sql::expand_texts(text_list& to, const std::string& rows) const {
  const auto one = key_words(names_);
  auto many = sql::key_dictionary({batch_words, words}, names_);
  many.set("rows", rows);
  for (const auto& each : lock_texts)
    to[static_cast<std::size_t>(each.id)] = (each.of_many ? many : one).fill(sql::template_of(each.which).sql);
  for (const auto& each : texts) to[static_cast<std::size_t>(each.id)] = one.fill(each.sql);
}

lease_sql::lease_sql(sql::table_names names) : names_(std::move(names)) {
  parked::add_waiter_names(names_);  // a table that only these databases have
  sql::add_words(names_, words);
  const auto shared = sql::shared_statements();
  statements_ =
      sql::make_statements<statement_id>({std::span(shared).first(statement_count)}, key_words(names_),
                                         std::span(sql::parameter_names).first(parameter_count), sql::marker::question);
  quick_ = statements_;
  // Not the insert, because dlock's own statements lock the floor, or the same new key, for a moment.
  for (const auto id :
       {statement_id::take, statement_id::take_over, statement_id::extend, statement_id::release,
        statement_id::release_min_hold, statement_id::cancel, statement_id::pass_on, statement_id::reserve}) {
    quick_[static_cast<std::size_t>(id)].sql.insert(0, quick_prefix);
  }
  const auto& releases = sql::template_of(sql::lock_statement::release_and_wake);
  release_and_wake_ = sql::find_parameters(releases.name, key_words(names_).fill(releases.sql), sql::parameter_names,
                                           sql::marker::question);
  quick_release_and_wake_ = release_and_wake_;
  quick_release_and_wake_.sql.insert(0, quick_prefix);
  waiters_ = parked::make_waiter_sql(names_, look_sql);
  waiters_.set_held = sql::in_one_line(names_.expand(set_held_sql));
  waiters_.look_for_free = sql::in_one_line(names_.expand(look_for_free_sql));
  waiters_.others_first = sql::in_one_line(names_.expand(others_first_sql));
  waiters_.nested = sql::in_one_line(names_.expand(nested_sql));
  waiters_.present_grants = sql::in_one_line(names_.expand(present_grants_sql));
  expand_texts(texts_, names_.expand("{lock} FORCE INDEX (PRIMARY)"));
  expand_texts(skipping_, names_.expand(unlocked_rows));
}

}  // namespace dlock::stores::mysql::lease_table
