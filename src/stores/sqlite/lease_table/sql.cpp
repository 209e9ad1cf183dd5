// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/sql.hpp"

#include <fmt/format.h>

namespace dlock::stores::sqlite::lease_table {
namespace {

// "Rule" means those of docs/protocol.md, which has the same statements. Each changes rows by itself, in autocommit: rule
// 2's sub-query is safe here, unlike on a server, because SQLite has one writer at a time and a statement reads what the
// last one committed.

// A sum with NULL is NULL: a lease kept by its session has no expiry of its own, and one left from the holder before would
// free it (rule 1).
constexpr const char* grant = R"(
  {lock.session_id} = :session,
  {lock.nonce} = :nonce,
  {lock.fence} = {lock.fence} + 1,
  {lock.acquired_at_us} = :now,
  {lock.expires_at_us} = :own_ttl + :now)";

constexpr sql::statement_source<statement_id> sources[] = {
    // Rule 1: free means nobody holds it, or the row's own expiry has passed.
    {statement_id::take, "take", R"(
UPDATE {lock}
SET {grant}
WHERE {lock.lock_key} = :key
  AND ({lock.session_id} IS NULL OR {lock.expires_at_us} <= :now)
RETURNING {lock.fence}
)"},

    // Rule 11: the first fence of a row is above all that were swept.
    {statement_id::insert, "insert", R"(
INSERT INTO {lock} (
  {lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence},
  {lock.acquired_at_us}, {lock.expires_at_us}, {lock.verified_by}, {lock.verifies})
SELECT :key, :session, :nonce, {floor.fence} + 1, :now, :own_ttl + :now, 0, 0
FROM {floor}
WHERE {floor.id} = 1
RETURNING {lock.fence}
)"},

    // Rule 2: one SELECT shows the holder, its fence and what became of its session.
    {statement_id::look, "look", R"(
SELECT
  l.{lock.session_id}, l.{lock.fence}, l.{lock.expires_at_us}, s.{session.expires_at_us},
  s.{session.host}, s.{session.pid}, s.{session.label}
FROM {lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE l.{lock.lock_key} = :key
)"},

    // Rule 2: about the holder and the fence that were seen, never about whoever holds now. A release with min_hold gives
    // a kept row an expiry, which counts even when the session has been closed since.
    {statement_id::take_over, "take over", R"(
UPDATE {lock}
SET {grant}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :holder
  AND {lock.fence} = :seen_fence
  AND ({lock.expires_at_us} <= :now
       OR ({lock.expires_at_us} IS NULL
           AND NOT EXISTS (SELECT 1 FROM {session} s WHERE s.{session.id} = :holder)))
RETURNING {lock.fence}
)"},

    // Rule 12, renewal::manual: never shortens, never revives.
    {statement_id::extend, "extend", R"(
UPDATE {lock}
SET {lock.expires_at_us} = MAX({lock.expires_at_us}, :own_ttl + :now)
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.fence} = :fence
  AND {lock.expires_at_us} > :now
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
  {lock.session_id} = IIF({lock.acquired_at_us} + :min_hold > :now, {lock.session_id}, NULL),
  {lock.expires_at_us} = IIF({lock.acquired_at_us} + :min_hold > :now, {lock.acquired_at_us} + :min_hold, NULL)
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
VALUES (:session, :ttl + :now, :ttl, 0, 0, :host, :pid, :label, :now, :boot)
)"},

    // Rule 3: never shortens, never revives, never against an operator.
    {statement_id::session_renew, "renew session", R"(
UPDATE {session}
SET
  {session.expires_at_us} = MAX({session.expires_at_us}, :ttl + :now),
  {session.beat} = {session.beat} + 1
WHERE {session.id} = :session
  AND {session.expires_at_us} > :now
  AND NOT {session.revoked}
)"},

    // Rule 2: looks again whether it has expired.
    {statement_id::session_remove_expired, "remove expired session", R"(
DELETE FROM {session}
WHERE {session.id} = :session
  AND {session.expires_at_us} <= :now
)"},

    {statement_id::session_close, "close session", R"(
DELETE FROM {session}
WHERE {session.id} = :session
)"},

    // Before a session's row goes, which told how late it is: after a reboot it would be later than the clock.
    {statement_id::latest, "note the time", R"(
UPDATE {floor}
SET {floor.fence} = MAX({floor.fence}, :now)
WHERE {floor.id} = 2
)"},

    // Rule 2, of the session that a row locked in place names.
    {statement_id::look_session, "look at a session", R"(
SELECT {session.expires_at_us}, {session.host}, {session.pid}, {session.label}
FROM {session}
WHERE {session.id} = :session
)"},

    // Rule 12: forced by an operator, taken over after its expiry.
    {statement_id::revoke, "revoke", R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE {session.id} = (
  SELECT {lock.session_id}
  FROM {lock}
  WHERE {lock.lock_key} = :key
    AND {lock.expires_at_us} IS NULL)
)"},

    // Rule 11, dead sessions that nobody holds locks of: past for another ttl, so that their process knows.
    {statement_id::sweep_sessions, "find dead sessions", R"(
SELECT {session.id}
FROM {session}
WHERE {session.expires_at_us} + {session.ttl_us} <= :now
  AND {session.id} NOT IN (SELECT {lock.session_id} FROM {lock} WHERE {lock.session_id} IS NOT NULL)
LIMIT :most
)"},

    {statement_id::sweep_session, "delete a dead session", R"(
DELETE FROM {session}
WHERE {session.id} = :session
  AND {session.expires_at_us} + {session.ttl_us} <= :now
)"},

    // Rule 11, idle keys: in the order of the table itself, so that a step goes on where the last one ended.
    {statement_id::sweep_keys, "find idle keys", R"(
SELECT l.{lock.lock_key}, l.rowid, l.{lock.fence}
FROM {lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE l.rowid > :after
  AND l.{lock.acquired_at_us} <= :now - :idle
  AND (l.{lock.session_id} IS NULL
       OR l.{lock.expires_at_us} <= :now
       OR (l.{lock.expires_at_us} IS NULL
           AND COALESCE(s.{session.expires_at_us} + s.{session.ttl_us} <= :now, 1)))
ORDER BY l.rowid
LIMIT :most
)"},

    // Before a row goes, so that one which is made anew starts above it.
    {statement_id::sweep_floor, "raise the floor", R"(
UPDATE {floor}
SET {floor.fence} = MAX({floor.fence}, :seen_fence)
WHERE {floor.id} = 1
)"},

    // The row may be held by the dead: a key that nobody asks for again could never go otherwise.
    {statement_id::sweep_key, "delete an idle key", R"(
DELETE FROM {lock}
WHERE {lock.lock_key} = :key
  AND {lock.acquired_at_us} <= :now - :idle
  AND {lock.fence} <= (SELECT {floor.fence} FROM {floor} WHERE {floor.id} = 1)
  AND ({lock.session_id} IS NULL
       OR {lock.expires_at_us} <= :now
       OR ({lock.expires_at_us} IS NULL
           AND NOT EXISTS (
             SELECT 1
             FROM {session} s
             WHERE s.{session.id} = {lock}.{lock.session_id}
               AND s.{session.expires_at_us} + s.{session.ttl_us} > :now)))
)"},
};

// The statement `look` for many keys.
constexpr const char* look_at_all_text = R"(
SELECT
  l.{lock.session_id}, l.{lock.fence}, l.{lock.expires_at_us}, s.{session.expires_at_us},
  s.{session.host}, s.{session.pid}, s.{session.label}, l.{lock.lock_key}
FROM {lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE l.{lock.lock_key} IN (:keys)
)";

}  // namespace

const char* source_of(statement_id which) noexcept { return sources[static_cast<std::size_t>(which)].sql; }

void bind(sqlite_statement& to, const sql::statement_text& text, const lease_values& values) noexcept {
  int at = 0;
  for (const auto number : text.parameters) {
    ++at;
    switch (static_cast<parameter>(number)) {
      case parameter::now: to.bind(at, values.now); break;
      case parameter::key: to.bind_blob(at, values.key); break;
      case parameter::session: to.bind_id(at, values.session); break;
      case parameter::nonce: to.bind(at, values.nonce); break;
      case parameter::fence: to.bind(at, values.fence); break;
      case parameter::own_ttl: values.no_own_ttl ? to.bind_null(at) : to.bind(at, values.own_ttl); break;
      case parameter::min_hold: to.bind(at, values.min_hold); break;
      case parameter::holder: to.bind_id(at, values.holder); break;
      case parameter::seen_fence: to.bind(at, values.seen_fence); break;
      case parameter::ttl: to.bind(at, values.ttl); break;
      case parameter::host: to.bind_text(at, values.host); break;
      case parameter::pid: to.bind(at, values.pid); break;
      case parameter::label: to.bind_text(at, values.label); break;
      case parameter::boot: to.bind_text(at, values.boot); break;
      case parameter::idle: to.bind(at, values.idle); break;
      case parameter::most: to.bind(at, values.most); break;
      case parameter::after: to.bind(at, values.after); break;
      case parameter::count_: break;
    }
  }
}

lease_sql::lease_sql(const sql::table_names& names) {
  auto with_grant = names;
  with_grant.add_text("grant", names.expand(grant));
  statements_ = sql::make_statements<statement_id>(sources, with_grant, parameter_names, sql::marker::name);
  std::string keys;
  for (std::size_t i = 1; i <= most_looks; ++i) keys += fmt::format("{}?{}", i == 1 ? "" : ", ", i);
  look_at_all_ = sql::write_values(sql::in_one_line(names.expand(look_at_all_text)), {{"keys", keys}});
}

}  // namespace dlock::stores::sqlite::lease_table
