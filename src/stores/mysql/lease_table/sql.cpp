// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/lease_table/sql.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace dlock::stores::mysql::lease_table {
namespace {

using enum mysql_value;

// NULL + now is NULL: a lease kept by its session has no expiry of its own, and one left from the holder
// before would free it (rule 1).
constexpr const char* grant =
    "{lock.session_id}=?, {lock.nonce}=?, {lock.fence}=LAST_INSERT_ID({lock.fence}+1), "
    "{lock.acquired_at_us}={now}, "
    "{lock.expires_at_us}=?+{now}, {lock.verified_by}=0";

struct hot_source {
  mysql_hot which;
  const char* name;
  const char* sql;
  std::initializer_list<mysql_value> values;
};

const hot_source sources[] = {
    // Rule 1: free means nobody holds it, or the row's own expiry has passed.
    {mysql_hot::take,
     "take",
     "UPDATE {lock} SET {grant} WHERE {lock.lock_key}=? AND ({lock.session_id} IS NULL OR "
     "{lock.expires_at_us}<={now})",
     {session, nonce, own_ttl, key}},
    // Rule 11: the first fence is above the floor, which is read with a lock: clean-up raises it before it deletes.
    {mysql_hot::insert,
     "insert",
     "INSERT INTO {lock} ({lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence}, "
     "{lock.acquired_at_us}, "
     "{lock.expires_at_us}, {lock.verified_by}, {lock.verifies}) "
     "SELECT ?, ?, ?, LAST_INSERT_ID({floor.fence}+1), {now}, ?+{now}, 0, 0 FROM {floor} WHERE {floor.id}=1 "
     "LOCK IN SHARE MODE",
     {key, session, nonce, own_ttl}},
    // Rule 2: a plain read, which no lock makes wait.
    {mysql_hot::look,
     "look",
     "SELECT l.{lock.session_id}, l.{lock.fence}, l.{lock.expires_at_us} IS NULL, s.{session.id} IS NULL, "
     "IFNULL(l.{lock.expires_at_us}, s.{session.expires_at_us})-{now}, s.{session.host}, s.{session.pid}, "
     "s.{session.label} FROM {lock} l LEFT JOIN {session} s ON s.{session.id}=l.{lock.session_id} "
     "WHERE l.{lock.lock_key}=?",
     {key}},
    // Rule 2: about the holder and the fence that were seen, never about whoever holds now: the sub-query takes no lock
    // and may read a view older than the row lock. A release with min_hold gives a kept row an expiry, which counts
    // even when the session has been closed since.
    {mysql_hot::take_over,
     "take over",
     "UPDATE {lock} SET {grant} WHERE {lock.lock_key}=? AND {lock.session_id}=? AND {lock.fence}=? AND "
     "({lock.expires_at_us}<={now} OR ({lock.expires_at_us} IS NULL AND NOT EXISTS "
     "(SELECT 1 FROM {session} s WHERE s.{session.id}=?)))",
     {session, nonce, own_ttl, key, holder, seen_fence, holder}},
    // Rule 12, renewal::manual.
    {mysql_hot::extend,
     "extend",
     "UPDATE {lock} SET {lock.expires_at_us}=GREATEST({lock.expires_at_us}, ?+{now}) WHERE {lock.lock_key}=? "
     "AND "
     "{lock.session_id}=? AND {lock.fence}=? AND {lock.expires_at_us}>{now}",
     {own_ttl, key, session, fence}},
    // Rule 6: names session and fence, so it may be repeated until it is answered.
    {mysql_hot::release,
     "release",
     "UPDATE {lock} SET {lock.session_id}=NULL, {lock.expires_at_us}=NULL WHERE {lock.lock_key}=? AND "
     "{lock.session_id}=? AND {lock.fence}=?",
     {key, session, fence}},
    // Rule 12: min_hold keeps holder and fence and lets the row end by an expiry of its own.
    {mysql_hot::release_later,
     "release with min_hold",
     "UPDATE {lock} SET {lock.session_id}=IF({lock.acquired_at_us}+?>{now}, {lock.session_id}, NULL), "
     "{lock.expires_at_us}=IF({lock.acquired_at_us}+?>{now}, {lock.acquired_at_us}+?, NULL) "
     "WHERE {lock.lock_key}=? AND {lock.session_id}=? AND {lock.fence}=?",
     {min_hold, min_hold, min_hold, key, session, fence}},
    // Rule 6: names session and nonce: the attempt, whatever fence it got.
    {mysql_hot::cancel,
     "cancel",
     "UPDATE {lock} SET {lock.session_id}=NULL, {lock.expires_at_us}=NULL WHERE {lock.lock_key}=? AND "
     "{lock.session_id}=? AND {lock.nonce}=?",
     {key, session, nonce}},
    {mysql_hot::session_open,
     "open session",
     "INSERT INTO {session} ({session.id}, {session.expires_at_us}, {session.ttl_us}, {session.beat}, "
     "{session.doomed}, {session.host}, {session.pid}, {session.label}, {session.started_at_us}, "
     "{session.boot}) "
     "VALUES (?, ?+{now}, ?, 0, 0, ?, ?, ?, {now}, '')",
     {session, ttl, ttl, host, pid, label}},
    // Rule 3: GREATEST, because two renewals may run in the wrong order; beat, so that the row always changes.
    {mysql_hot::session_renew,
     "renew session",
     "UPDATE {session} SET {session.expires_at_us}=GREATEST({session.expires_at_us}, ?+{now}), "
     "{session.beat}={session.beat}+1 WHERE {session.id}=? AND {session.expires_at_us}>{now} AND NOT "
     "{session.doomed}",
     {ttl, session}},
    // Rule 2: queues behind a renewal in flight and reads the row again; a renewal that comes later finds none.
    {mysql_hot::session_remove_expired,
     "kill session",
     "DELETE FROM {session} WHERE {session.id}=? AND {session.expires_at_us}<={now}",
     {session}},
    {mysql_hot::session_close, "close session", "DELETE FROM {session} WHERE {session.id}=?", {session}},
};
static_assert(std::size(sources) == mysql_hot_count);

}  // namespace

mysql_sql::mysql_sql(sql::table_names names) : names_(std::move(names)) {
  names_.add_text("now", server_clock);
  names_.add_text("grant", names_.expand(grant));
  for (const auto& source : sources) {
    auto& made = hot_[static_cast<std::size_t>(source.which)];
    made.name = source.name;
    made.sql = names_.expand(source.sql);
    made.count = source.values.size();
    std::copy(source.values.begin(), source.values.end(), made.values.begin());
  }
  quick_ = hot_;
  for (const auto which : {mysql_hot::take, mysql_hot::take_over}) {
    quick_[static_cast<std::size_t>(which)].sql.insert(0, quick_prefix);
  }
}

}  // namespace dlock::stores::mysql::lease_table
