// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/lease_sql.hpp"

#include <iterator>
#include <utility>

namespace dlock::stores::sql {
namespace {

// The rules are those of docs/protocol.md, which has the same statements. Each statement is committed by itself. SQLite
// needs no lock in rule 2's sub-query, because it has one writer at a time and a statement reads what the last one
// committed.

constexpr named_part key_words[] = {
    {"table", "{lock}"},
    {"row", "{lock.lock_key} = :key"},
    {"free", "({lock.session_id} IS NULL OR {lock.expires_at_us} <= {now})"},
    // A sum with NULL is NULL: a lease kept by its session has no separate expiry, and one left by the previous holder
    // would free it (rule 1).
    {"granted",
     "{lock.session_id} = :session, {lock.nonce} = {nonce}, {lock.fence} = {next_fence}, "
     "{lock.acquired_at_us} = {now}, {lock.expires_at_us} = :own_ttl + {now}{unverified}"},
    // Rule 11: the first fence is above the floor, read with a lock because clean-up raises the floor before it
    // deletes.
    {"first",
     "( {lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence}, "
     "{lock.acquired_at_us}, {lock.expires_at_us}, {lock.verified_by}, {lock.verifies}) "
     "SELECT {new_key}, :session, {new_nonce}, {first_fence}, {now}, :own_ttl + {now}, 0, 0 "
     "FROM {floor} {new_keys} WHERE {floor.id} = 1 {lock_floor}"},
    {"new_key", ":key"},
    {"new_nonce", ":nonce"},
    {"new_keys", ""},
    {"as_seen", "{lock.session_id} = :holder AND {lock.fence} = :seen_fence"},
    // On a server the sub-query takes no lock and may read a view older than the row lock. A release with min_hold
    // gives a kept row an expiry, which counts even if the session was closed since.
    {"dead",
     "({lock.expires_at_us} <= {now} "
     "OR ({lock.expires_at_us} IS NULL AND NOT EXISTS (SELECT 1 FROM {session} s WHERE s.{session.id} = :holder)))"},
    {"owned", "{lock.session_id} = :session AND {lock.nonce} = {nonce}"},
    {"ours", "{lock.session_id} = :session AND {lock.fence} = {my_fence}"},
    {"nonce", ":nonce"},
    {"my_fence", ":fence"},
    {"freed", "{lock.session_id} = NULL, {lock.expires_at_us} = NULL"},
    {"reserved", "{lock.fence} = {reserved_fence}"},
    {"extended", "{lock.expires_at_us} = {greatest}({lock.expires_at_us}, :own_ttl + {now})"},
    {"in_time", "{lock.expires_at_us} > {now}"},
    // The holder, its fence and the state of its session.
    {"seen", "{seen_holder}"},
    {"seen_holder",
     "l.{lock.session_id}, l.{lock.fence}, {seen_expiry}, "
     "s.{session.host}, s.{session.pid}, s.{session.label}, l.{lock.nonce}"},
    {"seen_in", "{holders}"},
    {"holders", "{lock} l LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}"},
    {"seen_row", "l.{row}"},
    {"fence", "{lock.fence}"},
    {"verified", "{lock.verified_by} = {connection}, {lock.verifies} = {lock.verifies} + 1"},
};

// Rule 12: until min_hold is over, holder and fence stay, and the row's own expiry ends them.
constexpr const char* release_min_hold = R"(
UPDATE {rows}
SET
  {lock.session_id} = {if}({lock.acquired_at_us} + :min_hold > {now}, {lock.session_id}, NULL),
  {lock.expires_at_us} = {if}({lock.acquired_at_us} + :min_hold > {now}, {lock.acquired_at_us} + :min_hold, NULL)
WHERE {row}
  AND {ours}
)";

constexpr statement_source<statement_id> session_statements[] = {
    {statement_id::session_open, "open session", R"(
INSERT INTO {session} (
  {session.id}, {session.expires_at_us}, {session.ttl_us}, {session.beat}, {session.revoked},
  {session.host}, {session.pid}, {session.label}, {session.started_at_us}, {session.boot})
VALUES (:session, :ttl + {now}, :ttl, 0, 0, :host, :pid, :label, {now}, {boot})
)"},

    // Rule 3: never shortens, because two renewals may run in the wrong order. Never revives a session, and never
    // undoes a revocation. `beat` makes the row always change.
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

    // Rule 2: waits for a renewal in flight and reads the row again; a later renewal finds no row.
    {statement_id::session_remove_expired, "remove expired session", R"(
DELETE FROM {session}
WHERE {session.id} = :session
  AND {session.expires_at_us} <= {now}
)"},

    {statement_id::session_close, "close session", R"(
DELETE FROM {session}
WHERE {session.id} = :session
)"},

    // Rule 12: marks the session, not the lock's row, so the session loses all its locks when its expiry passes. The
    // sub-query takes no lock, because the operator means whoever holds the key at this moment.
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

}  // namespace

std::vector<statement_source<statement_id>> shared_statements() {
  const auto of = [](statement_id id, lock_statement which) {
    return statement_source<statement_id>{id, template_of(which).name, template_of(which).sql};
  };
  std::vector all{
      of(statement_id::take, lock_statement::take),
      of(statement_id::insert, lock_statement::insert),
      of(statement_id::poll, lock_statement::poll),
      of(statement_id::take_over, lock_statement::take_over),
      of(statement_id::extend, lock_statement::extend),
      of(statement_id::release, lock_statement::release),
      {statement_id::release_min_hold, "release with min_hold", release_min_hold},
      of(statement_id::cancel, lock_statement::cancel),
      of(statement_id::pass_on, lock_statement::pass_on),
      of(statement_id::reserve, lock_statement::reserve),
  };
  all.insert(all.end(), std::begin(session_statements), std::end(session_statements));
  return all;
}

const char* source_of(statement_id which) { return shared_statements().at(static_cast<std::size_t>(which)).sql; }

dictionary key_dictionary(std::vector<dictionary::word_list> database, const table_names& names) {
  database.insert(database.end(), {dictionary::word_list(key_words), common_words()});
  return dictionary(std::move(database), &names);
}

void add_words(table_names& to, dictionary::word_list database) {
  const auto words = key_dictionary({database}, to);
  for (const auto& word : database) to.add_text(std::string(word.name), words.expand(word.text));
  for (const char* const name : {"seen", "holders"}) to.add_text(name, words.expand(fmt::format("{{{}}}", name)));
}

}  // namespace dlock::stores::sql
