// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/sql.hpp"

#include <iterator>
#include <utility>

namespace dlock::stores::mysql::lease_table {
namespace {

// "Rule" means those of docs/protocol.md, which has the same statements.

// NULL + now is NULL: a lease kept by its session has no expiry of its own, and one left from the holder
// before would free it (rule 1).
constexpr const char* grant = R"(
  {lock.session_id} = :session,
  {lock.nonce} = :nonce,
  {lock.fence} = LAST_INSERT_ID({lock.fence} + 1),
  {lock.acquired_at_us} = {now},
  {lock.expires_at_us} = :own_ttl + {now},
  {lock.verified_by} = 0)";

constexpr sql::statement_source<statement_id> sources[] = {
    // Rule 1: free means nobody holds it, or the row's own expiry has passed.
    {statement_id::take, "take", R"(
UPDATE {lock}
SET {grant}
WHERE {lock.lock_key} = :key
  AND ({lock.session_id} IS NULL OR {lock.expires_at_us} <= {now})
  AND CONCAT(@@global.read_only) IN ('0', 'OFF')
)"},

    // Rule 11: the first fence is above the floor, which is read with a lock: clean-up raises it before it deletes.
    {statement_id::insert, "insert", R"(
INSERT INTO {lock} (
  {lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence},
  {lock.acquired_at_us}, {lock.expires_at_us}, {lock.verified_by}, {lock.verifies})
SELECT :key, :session, :nonce, LAST_INSERT_ID({floor.fence} + 1), {now}, :own_ttl + {now}, 0, 0
FROM {floor}
WHERE {floor.id} = 1
LOCK IN SHARE MODE
)"},

    // Rule 2: a plain read, which no lock makes wait.
    {statement_id::look, "look", R"(
SELECT
  l.{lock.session_id}, l.{lock.fence}, l.{lock.expires_at_us} IS NULL, s.{session.id} IS NULL,
  IFNULL(l.{lock.expires_at_us}, s.{session.expires_at_us}) - {now},
  s.{session.host}, s.{session.pid}, s.{session.label}, l.{lock.nonce}
FROM {lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE l.{lock.lock_key} = :key
)"},

    // Rule 2: about the holder and the fence that were seen, never about whoever holds now: the sub-query takes no lock
    // and may read a view older than the row lock. A release with min_hold gives a kept row an expiry, which counts
    // even when the session has been closed since.
    {statement_id::take_over, "take over", R"(
UPDATE {lock}
SET {grant}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :holder
  AND {lock.fence} = :seen_fence
  AND ({lock.expires_at_us} <= {now}
       OR ({lock.expires_at_us} IS NULL
           AND NOT EXISTS (SELECT 1 FROM {session} s WHERE s.{session.id} = :holder)))
)"},

    // Rule 12, renewal::manual: never shortens, never revives.
    {statement_id::extend, "extend", R"(
UPDATE {lock}
SET {lock.expires_at_us} = GREATEST({lock.expires_at_us}, :own_ttl + {now})
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.fence} = :fence
  AND {lock.expires_at_us} > {now}
)"},

    // Rule 6: names session and fence, so it may be repeated until it is answered.
    {statement_id::release, "release", R"(
UPDATE {lock}
SET
  {lock.session_id} = NULL,
  {lock.expires_at_us} = NULL
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.fence} = :fence
)"},

    // Rule 12: before the time is over, holder and fence stay, and an expiry of the row's own ends them.
    {statement_id::release_min_hold, "release with min_hold", R"(
UPDATE {lock}
SET
  {lock.session_id} = IF({lock.acquired_at_us} + :min_hold > {now}, {lock.session_id}, NULL),
  {lock.expires_at_us} = IF({lock.acquired_at_us} + :min_hold > {now}, {lock.acquired_at_us} + :min_hold, NULL)
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.fence} = :fence
)"},

    // Rule 6: names session and nonce: the attempt, whatever fence it got.
    {statement_id::cancel, "cancel", R"(
UPDATE {lock}
SET
  {lock.session_id} = NULL,
  {lock.expires_at_us} = NULL
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.nonce} = :nonce
)"},

    {statement_id::session_open, "open session", R"(
INSERT INTO {session} (
  {session.id}, {session.expires_at_us}, {session.ttl_us}, {session.beat}, {session.revoked},
  {session.host}, {session.pid}, {session.label}, {session.started_at_us}, {session.boot})
VALUES (:session, :ttl + {now}, :ttl, 0, 0, :host, :pid, :label, {now}, '')
)"},

    // Rule 3: GREATEST, because two renewals may run in the wrong order; beat, so that the row always changes. A server that
    // has become a replica still lets privileged users write: so takes and renewals ask. As text, because newer servers have
    // words for the variable's values.
    {statement_id::session_renew, "renew session", R"(
UPDATE {session}
SET
  {session.expires_at_us} = GREATEST({session.expires_at_us}, :ttl + {now}),
  {session.beat} = {session.beat} + 1
WHERE {session.id} = :session
  AND {session.expires_at_us} > {now}
  AND NOT {session.revoked}
  AND CONCAT(@@global.read_only) IN ('0', 'OFF')
)"},

    // Rule 2: queues behind a renewal in flight and reads the row again; a renewal that comes later finds none.
    {statement_id::session_remove_expired, "remove expired session", R"(
DELETE FROM {session}
WHERE {session.id} = :session
  AND {session.expires_at_us} <= {now}
)"},

    {statement_id::session_close, "close session", R"(
DELETE FROM {session}
WHERE {session.id} = :session
)"},
};

// What a batch changes where the server can pass over locked rows: those that this statement itself could lock, so that it
// waits for nobody. The limit keeps the sub-query a table of its own, which the server reads first. It has a column beside the
// key: without one the server may read the whole index instead of these rows, and lock rows of others on its way.
constexpr const char* unlocked_rows = R"((
  SELECT {lock.lock_key} AS unlocked_key, {lock.fence} AS unlocked_fence
  FROM {lock} FORCE INDEX (PRIMARY)
  WHERE {lock.lock_key} IN (:keys)
  LIMIT 1000000
  FOR UPDATE SKIP LOCKED) unlocked
STRAIGHT_JOIN {lock} FORCE INDEX (PRIMARY) ON {lock.lock_key} = unlocked_key)";

struct text_source {
  text_id id;
  const char* sql;
};

constexpr text_source texts[] = {
    // Rule 1, and as for one key: each row is judged when it is locked, by its own columns alone.
    {text_id::batch_take, R"(
UPDATE {rows}
SET
  {lock.session_id} = :session,
  {lock.nonce} = CASE {lock.lock_key} :nonces END,
  {lock.fence} = LAST_INSERT_ID({lock.fence} + 1),
  {lock.acquired_at_us} = {now},
  {lock.expires_at_us} = :own_ttl + {now},
  {lock.verified_by} = 0
WHERE {lock.lock_key} IN (:keys)
  AND ({lock.session_id} IS NULL OR {lock.expires_at_us} <= {now})
  AND CONCAT(@@global.read_only) IN ('0', 'OFF')
)"},

    // Rule 11, the statement `insert` for many keys. All of them get the same first fence; a key that is there already
    // fails it for all.
    {text_id::batch_insert, R"(
INSERT INTO {lock} (
  {lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence},
  {lock.acquired_at_us}, {lock.expires_at_us}, {lock.verified_by}, {lock.verifies})
SELECT new_key, :session, new_nonce, LAST_INSERT_ID({floor.fence} + 1), {now}, :own_ttl + {now}, 0, 0
FROM {floor}
CROSS JOIN (:new_keys) new_keys
WHERE {floor.id} = 1
LOCK IN SHARE MODE
)"},

    // Rule 6: of each key the session and the fence, or the nonce.
    {text_id::batch_release, R"(
UPDATE {rows}
SET
  {lock.session_id} = NULL,
  {lock.expires_at_us} = NULL
WHERE {lock.lock_key} IN (:keys)
  AND {lock.session_id} = :session
  AND {lock.fence} = CASE {lock.lock_key} :fences END
)"},

    {text_id::batch_cancel, R"(
UPDATE {rows}
SET
  {lock.session_id} = NULL,
  {lock.expires_at_us} = NULL
WHERE {lock.lock_key} IN (:keys)
  AND {lock.session_id} = :session
  AND {lock.nonce} = CASE {lock.lock_key} :nonces END
)"},

    {text_id::batch_read, R"(
SELECT {lock.lock_key}, {lock.session_id} = :session, {lock.session_id} IS NULL, {lock.nonce}, {lock.fence}
FROM {lock}
WHERE {lock.lock_key} IN (:keys)
)"},

    // Rule 2, the statement `look` for many keys.
    {text_id::batch_look, R"(
SELECT
  l.{lock.lock_key},
  l.{lock.session_id}, l.{lock.fence}, l.{lock.expires_at_us} IS NULL, s.{session.id} IS NULL,
  IFNULL(l.{lock.expires_at_us}, s.{session.expires_at_us}) - {now},
  s.{session.host}, s.{session.pid}, s.{session.label}, l.{lock.nonce}
FROM {lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE l.{lock.lock_key} IN (:keys)
)"},

    // Of a grant whose answer did not tell it.
    {text_id::granted_fence, R"(
SELECT {lock.fence}
FROM {lock}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.nonce} = :nonce
)"},

    // Whether somebody's transaction has the row locked.
    {text_id::ask_for_row, R"(
SELECT 1
FROM {lock}
WHERE {lock.lock_key} = :key
FOR UPDATE NOWAIT
)"},

    // Rule 12: the session is marked, not the lock's row: it loses what it holds when its expiry passes. A plain
    // sub-query: it names the holder of this moment, and an operator cannot mean more.
    {text_id::revoke, R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE {session.id} = (
  SELECT {lock.session_id}
  FROM {lock}
  WHERE {lock.lock_key} = :key
    AND {lock.expires_at_us} IS NULL)
)"},

    // Rule 13: the connection whose transaction verified a lease, and how often it was verified.
    {text_id::verifiers, R"(
SELECT {lock.verified_by}, {lock.verifies}
FROM {lock}
WHERE {lock.lock_key} = :key
)"},
};
static_assert(std::size(texts) == static_cast<std::size_t>(text_id::count_));

}  // namespace

const char* source_of(statement_id which) noexcept { return sources[static_cast<std::size_t>(which)].sql; }

void lease_sql::expand_texts(text_list& to, const std::string& rows) const {
  auto names = names_;
  names.add_text("rows", rows);
  for (const auto& source : texts) {
    to[static_cast<std::size_t>(source.id)] = sql::in_one_line(names.expand(source.sql));
  }
}

lease_sql::lease_sql(sql::table_names names) : names_(std::move(names)) {
  names_.add_text("now", server_clock);
  names_.add_text("grant", names_.expand(grant));
  statements_ = sql::make_statements<statement_id>(sources, names_, parameter_names, sql::marker::question);
  quick_ = statements_;
  for (const auto id : {statement_id::take, statement_id::take_over}) {
    quick_[static_cast<std::size_t>(id)].sql.insert(0, quick_prefix);
  }
  expand_texts(texts_, names_.expand("{lock} FORCE INDEX (PRIMARY)"));
  expand_texts(skipping_, names_.expand(unlocked_rows));
}

}  // namespace dlock::stores::mysql::lease_table
