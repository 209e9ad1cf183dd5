// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/lease_sql.hpp"

namespace dlock::stores::sql {
namespace {

// "Rule" means those of docs/protocol.md, which has the same statements. Each changes rows by itself, in autocommit. In
// SQLite rule 2's sub-query is safe as it is: it has one writer at a time, and a statement reads what the last one
// committed.

// A sum with NULL is NULL: a lease kept by its session has no separate expiry, and one left from the holder
// before would free it (rule 1).
constexpr const char* grant = R"(
  {lock.session_id} = :session,
  {lock.nonce} = {nonce},
  {lock.fence} = {next_fence},
  {lock.acquired_at_us} = {now},
  {lock.expires_at_us} = :own_ttl + {now}{unverified})";

constexpr const char* seen = R"(
  l.{lock.session_id}, l.{lock.fence}, {seen_expiry},
  s.{session.host}, s.{session.pid}, s.{session.label}, l.{lock.nonce})";

constexpr const char* holders = R"({lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id})";

constexpr statement_source<statement_id> sources[] = {
    // Rule 1: free means that it has no holder, or that the row's own expiry has passed.
    {statement_id::take, "take", R"(
UPDATE {lock}
SET {grant}
WHERE {lock.lock_key} = :key
  AND ({lock.session_id} IS NULL OR {lock.expires_at_us} <= {now})
  {only_primary}
{returning}
)"},

    // Rule 11: the first fence is above the floor, which is read with a lock: clean-up raises it before it deletes.
    {statement_id::insert, "insert", R"(
INSERT INTO {lock} (
  {lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence},
  {lock.acquired_at_us}, {lock.expires_at_us}, {lock.verified_by}, {lock.verifies})
SELECT :key, :session, :nonce, {first_fence}, {now}, :own_ttl + {now}, 0, 0
FROM {floor}
WHERE {floor.id} = 1
{lock_floor}
{returning}
)"},

    // Rule 2: a plain read, which no lock makes wait. It shows the holder, its fence and what became of its session.
    {statement_id::poll, "poll", R"(
SELECT {seen}
FROM {holders}
WHERE l.{lock.lock_key} = :key
)"},

    // Rule 2: about the holder and the fence that were seen, never about the present holder: on a server the sub-query
    // takes no lock and may read a view older than the row lock. A release with min_hold gives a kept row an expiry,
    // which counts even when the session has been closed since.
    {statement_id::take_over, "take over", R"(
UPDATE {lock}
SET {grant}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :holder
  AND {lock.fence} = :seen_fence
  AND ({lock.expires_at_us} <= {now}
       OR ({lock.expires_at_us} IS NULL
           AND NOT EXISTS (SELECT 1 FROM {session} s WHERE s.{session.id} = :holder)))
{returning}
)"},

    // Rule 12, renewal::manual: never shortens, never revives.
    {statement_id::extend, "extend", R"(
UPDATE {lock}
SET {lock.expires_at_us} = {greatest}({lock.expires_at_us}, :own_ttl + {now})
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
  {lock.session_id} = {if}({lock.acquired_at_us} + :min_hold > {now}, {lock.session_id}, NULL),
  {lock.expires_at_us} = {if}({lock.acquired_at_us} + :min_hold > {now}, {lock.acquired_at_us} + :min_hold, NULL)
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

    // Release and take in one. As the release it names session and fence, so nobody else can have had the key between.
    {statement_id::pass_on, "pass on", R"(
UPDATE {lock}
SET {grant}
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.fence} = :fence
  {only_primary}
{returning}
)"},

    {statement_id::session_open, "open session", R"(
INSERT INTO {session} (
  {session.id}, {session.expires_at_us}, {session.ttl_us}, {session.beat}, {session.revoked},
  {session.host}, {session.pid}, {session.label}, {session.started_at_us}, {session.boot})
VALUES (:session, :ttl + {now}, :ttl, 0, 0, :host, :pid, :label, {now}, {boot})
)"},

    // Rule 3: never shortens, because two renewals may run in the wrong order; never revives, never against an
    // operator. beat, so that the row always changes.
    {statement_id::session_renew, "renew session", R"(
UPDATE {session}
SET
  {session.expires_at_us} = {greatest}({session.expires_at_us}, :ttl + {now}),
  {session.beat} = {session.beat} + 1
WHERE {session.id} = :session
  AND {session.expires_at_us} > {now}
  AND NOT {session.revoked}
  {only_primary}
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

    // Rule 12: the session is marked, not the lock's row: it loses what it holds when its expiry passes. A plain
    // sub-query: it names the holder of this moment, and an operator cannot mean more.
    {statement_id::revoke, "revoke", R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE {session.id} = (
  SELECT {lock.session_id}
  FROM {lock}
  WHERE {lock.lock_key} = :key
    AND {lock.expires_at_us} IS NULL)
)"},
};

// The count always changes, so the row does: on a cluster only that makes the commit meet a take-over elsewhere.
constexpr const char* verify = R"(
UPDATE {lock}
SET
  {lock.verified_by} = {connection},
  {lock.verifies} = {lock.verifies} + 1
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.fence} = :fence
)";

}  // namespace

std::span<const statement_source<statement_id>> shared_statements() noexcept { return sources; }

const char* source_of(statement_id which) noexcept { return sources[static_cast<std::size_t>(which)].sql; }

const char* verify_source() noexcept { return verify; }

void add_words(table_names& to, std::span<const named_part> words) {
  for (const auto& word : words) to.add_text(std::string(word.name), to.expand(word.text));
  to.add_text("grant", grant_with_nonce(to, ":nonce"));
  to.add_text("seen", to.expand(seen));
  to.add_text("holders", to.expand(holders));
}

std::string grant_with_nonce(const table_names& names, std::string_view nonce) {
  return expand(names, grant, {{"nonce", nonce}});
}

}  // namespace dlock::stores::sql
