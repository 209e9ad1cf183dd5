// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sqlite/lease_table/sql.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

struct text {
  hot which;
  const char* sql;
};

// "Rule" means those of docs/protocol.md. Each changes rows by itself, in autocommit: rule 2's sub-query is
// safe here, unlike on a server, because SQLite has one writer at a time and a statement reads what the last
// one committed.
constexpr text texts[] = {
    // Rule 1: free is no holder, or an own expiry that has passed. A kept grant writes NULL over an old expiry, which
    // would free it. ?2 key, ?3 session, ?4 nonce, ?5 own ttl or NULL. (A sum with NULL is NULL.)
    {hot::take,
     "UPDATE {lock} SET {lock.session_id} = ?3, {lock.nonce} = ?4, {lock.fence} = {lock.fence} + 1,"
     " {lock.acquired_at_us} = ?1, {lock.expires_at_us} = ?1 + ?5"
     " WHERE {lock.lock_key} = ?2 AND ({lock.session_id} IS NULL OR {lock.expires_at_us} <= ?1)"
     " RETURNING {lock.fence}"},

    // Rule 11: the first fence of a row is above all that were swept. Parameters as for take.
    {hot::insert,
     "INSERT INTO {lock} ({lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence}, "
     "{lock.acquired_at_us},"
     " {lock.expires_at_us}, {lock.verified_by}, {lock.verifies})"
     " SELECT ?2, ?3, ?4, {floor.fence} + 1, ?1, ?1 + ?5, 0, 0 FROM {floor} WHERE {floor.id} = 1"
     " RETURNING {lock.fence}"},

    // Rule 2: one SELECT shows the holder, its fence and what became of its session. ?2 key
    {hot::look,
     "SELECT l.{lock.session_id}, l.{lock.fence}, l.{lock.expires_at_us}, s.{session.expires_at_us},"
     " s.{session.host}, s.{session.pid}, s.{session.label}"
     " FROM {lock} AS l LEFT JOIN {session} AS s ON s.{session.id} = l.{lock.session_id}"
     " WHERE l.{lock.lock_key} = ?2"},

    // Rule 2: only of the holder and fence that were seen, and only once its session is gone. Rule 12: a row that got
    // an own expiry since (min_hold) is not kept any more. ?6 seen holder, ?7 seen fence, others as for take.
    {hot::take_over_kept,
     "UPDATE {lock} SET {lock.session_id} = ?3, {lock.nonce} = ?4, {lock.fence} = {lock.fence} + 1,"
     " {lock.acquired_at_us} = ?1, {lock.expires_at_us} = ?1 + ?5"
     " WHERE {lock.lock_key} = ?2 AND {lock.session_id} = ?6 AND {lock.fence} = ?7 AND {lock.expires_at_us} "
     "IS NULL"
     " AND NOT EXISTS (SELECT 1 FROM {session} WHERE {session.id} = ?6)"
     " RETURNING {lock.fence}"},
    {hot::take_over_own,
     "UPDATE {lock} SET {lock.session_id} = ?3, {lock.nonce} = ?4, {lock.fence} = {lock.fence} + 1,"
     " {lock.acquired_at_us} = ?1, {lock.expires_at_us} = ?1 + ?5"
     " WHERE {lock.lock_key} = ?2 AND {lock.session_id} = ?6 AND {lock.fence} = ?7 AND {lock.expires_at_us} "
     "<= ?1"
     " RETURNING {lock.fence}"},

    // Rule 12: never shortens, never revives. ?2 key, ?3 session, ?4 fence, ?5 own ttl
    {hot::extend,
     "UPDATE {lock} SET {lock.expires_at_us} = MAX({lock.expires_at_us}, ?1 + ?5)"
     " WHERE {lock.lock_key} = ?2 AND {lock.session_id} = ?3 AND {lock.fence} = ?4 AND {lock.expires_at_us} "
     "> ?1"},

    // Rule 6: names session and fence, so it may be repeated. ?2 key, ?3 session, ?4 fence
    {hot::release,
     "UPDATE {lock} SET {lock.session_id} = NULL, {lock.expires_at_us} = NULL"
     " WHERE {lock.lock_key} = ?2 AND {lock.session_id} = ?3 AND {lock.fence} = ?4"},
    // Rule 12: before the time is over, holder and fence stay and an own expiry ends them. ?5 min_hold
    {hot::release_min_hold,
     "UPDATE {lock} SET"
     " {lock.session_id} = CASE WHEN {lock.acquired_at_us} + ?5 > ?1 THEN {lock.session_id} END,"
     " {lock.expires_at_us} = CASE WHEN {lock.acquired_at_us} + ?5 > ?1 THEN {lock.acquired_at_us} + ?5 END"
     " WHERE {lock.lock_key} = ?2 AND {lock.session_id} = ?3 AND {lock.fence} = ?4"},
    // Rule 6: an attempt whose answer was lost has no fence yet, but a nonce. ?2 key, ?3 session, ?4 nonce
    {hot::cancel,
     "UPDATE {lock} SET {lock.session_id} = NULL, {lock.expires_at_us} = NULL"
     " WHERE {lock.lock_key} = ?2 AND {lock.session_id} = ?3 AND {lock.nonce} = ?4"},

    // ?2 id, ?3 ttl, ?4 host, ?5 pid, ?6 label, ?7 boot
    {hot::session_open,
     "INSERT INTO {session} ({session.id}, {session.expires_at_us}, {session.ttl_us}, {session.beat},"
     " {session.doomed}, {session.host}, {session.pid}, {session.label}, {session.started_at_us}, "
     "{session.boot})"
     " VALUES (?2, ?1 + ?3, ?3, 0, 0, ?4, ?5, ?6, ?1, ?7)"},
    // Rule 3: never shortens, never revives, never against an operator. ?2 id, ?3 ttl
    {hot::session_renew,
     "UPDATE {session} SET {session.expires_at_us} = MAX({session.expires_at_us}, ?1 + ?3),"
     " {session.beat} = {session.beat} + 1"
     " WHERE {session.id} = ?2 AND {session.expires_at_us} > ?1 AND NOT {session.doomed}"},
    // Rule 2: looks again whether it has expired. ?2 id
    {hot::session_remove_expired, "DELETE FROM {session} WHERE {session.id} = ?2 AND {session.expires_at_us} <= ?1"},
    {hot::session_close, "DELETE FROM {session} WHERE {session.id} = ?2"},
    // Before a session's row goes, which told how late it is: after a reboot it would be later than the clock.
    {hot::latest, "UPDATE {floor} SET {floor.fence} = MAX({floor.fence}, ?1) WHERE {floor.id} = 2"},

    // Rule 2, of the session that a row locked in place names. ?2 id
    {hot::look_session,
     "SELECT {session.expires_at_us}, {session.host}, {session.pid}, {session.label} FROM {session}"
     " WHERE {session.id} = ?2"},

    // Rule 12: forced by an operator, taken over after its expiry. ?2 key
    {hot::revoke,
     "UPDATE {session} SET {session.doomed} = 1 WHERE {session.id} ="
     " (SELECT {lock.session_id} FROM {lock} WHERE {lock.lock_key} = ?2 AND {lock.expires_at_us} IS NULL)"},

    // Rule 11, dead sessions that nobody holds locks of: past for another ttl, so that their process knows. ?3 limit
    {hot::sweep_sessions,
     "SELECT {session.id} FROM {session} WHERE {session.expires_at_us} + {session.ttl_us} <= ?1"
     " AND {session.id} NOT IN (SELECT {lock.session_id} FROM {lock} WHERE {lock.session_id} IS NOT NULL) "
     "LIMIT ?3"},
    {hot::sweep_session,
     "DELETE FROM {session} WHERE {session.id} = ?2 AND {session.expires_at_us} + {session.ttl_us} <= ?1"},
    // Rule 11, idle keys: the floor is raised first, so that a later row of the key starts above. In the order of the
    // table itself, so that a step goes on where the last one ended. ?2 idle, ?3 limit, ?4 last rowid
    {hot::sweep_keys,
     "SELECT l.{lock.lock_key}, l.rowid, l.{lock.fence} FROM {lock} AS l"
     " LEFT JOIN {session} AS s ON s.{session.id} = l.{lock.session_id}"
     " WHERE l.rowid > ?4 AND l.{lock.acquired_at_us} <= ?1 - ?2 AND (l.{lock.session_id} IS NULL OR "
     "l.{lock.expires_at_us} <= ?1"
     " OR (l.{lock.expires_at_us} IS NULL"
     " AND COALESCE(s.{session.expires_at_us} + s.{session.ttl_us} <= ?1, 1))) ORDER BY l.rowid LIMIT ?3"},
    {hot::sweep_floor, "UPDATE {floor} SET {floor.fence} = MAX({floor.fence}, ?2) WHERE {floor.id} = 1"},
    // The row may be held by the dead: a key that nobody asks for again could never go otherwise. ?2 key, ?3 idle
    {hot::sweep_key,
     "DELETE FROM {lock} WHERE {lock.lock_key} = ?2 AND {lock.acquired_at_us} <= ?1 - ?3"
     " AND {lock.fence} <= (SELECT {floor.fence} FROM {floor} WHERE {floor.id} = 1)"
     " AND ({lock.session_id} IS NULL OR {lock.expires_at_us} <= ?1 OR ({lock.expires_at_us} IS NULL AND NOT EXISTS"
     " (SELECT 1 FROM {session} AS s WHERE s.{session.id} = {lock}.{lock.session_id}"
     " AND s.{session.expires_at_us} + s.{session.ttl_us} > ?1)))"},
};

}  // namespace

sqlite_sql::sqlite_sql(const sql::table_names& names) {
  for (const auto& [which, sql] : texts) texts_[static_cast<std::size_t>(which)] = names.expand(sql);
}

}  // namespace dlock::stores::sqlite::lease_table
