// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What operators see of the lock tables, the same in all databases.

#include <cstdint>
#include <string>
#include <string_view>

#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/row_table.hpp"
#include "dlock/store_interface/store_overview.hpp"
#include "stores/findings.hpp"

namespace dlock::stores::sql {

// These are sent seldom. They have the placeholders of lease_sql.hpp, and a database gives as further words:
// - {other_boot}: what else shows that a session is dead
// - {shown_session}: a session's id in the form in which the client library reads it
// - {wide_fence}: a fence for sums

/// Before a condition that chooses among the held locks, or their order: key, session, fence, microseconds since the
/// grant and until the expiry (negative: past), whether a session keeps it, whether that is revoked, and whether it is
/// dead, and the session's host, pid and label. A row whose own expiry has passed is free (rule 1).
inline constexpr const char* held_locks = R"(
SELECT
  l.{lock.lock_key}, l.{lock.session_id}, l.{lock.fence}, {now} - l.{lock.acquired_at_us},
  COALESCE(l.{lock.expires_at_us}, s.{session.expires_at_us}, {now}) - {now},
  l.{lock.expires_at_us} IS NULL,
  COALESCE(l.{lock.expires_at_us} IS NULL AND s.{session.revoked}, 0),
  l.{lock.expires_at_us} IS NULL AND (s.{session.id} IS NULL OR s.{session.expires_at_us} <= {now}{other_boot}),
  COALESCE(s.{session.host}, ''), COALESCE(s.{session.pid}, 0), COALESCE(s.{session.label}, '')
FROM {holders}
WHERE l.{lock.session_id} IS NOT NULL
  AND (l.{lock.expires_at_us} IS NULL OR l.{lock.expires_at_us} > {now})
)";

/// Keys, held ones, those of dead sessions, grants, sessions that live, sessions that don't. The sum of the fences
/// grows by one with each grant; a new key's begins above the floor.
inline constexpr const char* counts = R"(
SELECT
  COUNT(*),
  COALESCE(SUM(h.held), 0),
  COALESCE(SUM(h.held AND h.dead), 0),
  COALESCE(SUM({wide_fence} - f.{floor.fence}), 0),
  (SELECT COUNT(*) FROM {session} WHERE {session.expires_at_us} > {now}),
  (SELECT COUNT(*) FROM {session} WHERE {session.expires_at_us} <= {now})
FROM (
  SELECT
    l.{lock.fence} AS fence,
    l.{lock.session_id} IS NOT NULL AND (l.{lock.expires_at_us} IS NULL OR l.{lock.expires_at_us} > {now}) AS held,
    l.{lock.expires_at_us} IS NULL AND (s.{session.id} IS NULL OR s.{session.expires_at_us} <= {now}) AS dead
  FROM {holders}
) h
LEFT JOIN {floor} f ON f.{floor.id} = 1
)";

/// The sessions, those that hold the most first, at most :most.
inline constexpr const char* sessions = R"(
SELECT
  {shown_session}, s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.ttl_us},
  {now} - s.{session.started_at_us}, s.{session.expires_at_us} - {now}, s.{session.revoked}, COALESCE(k.locks, 0)
FROM {session} s
LEFT JOIN (
  SELECT l.{lock.session_id} AS session_id, COUNT(*) AS locks
  FROM {lock} l
  WHERE l.{lock.session_id} IS NOT NULL
    AND (l.{lock.expires_at_us} IS NULL OR l.{lock.expires_at_us} > {now})
  GROUP BY l.{lock.session_id}
) k ON k.session_id = s.{session.id}
ORDER BY COALESCE(k.locks, 0) DESC, s.{session.started_at_us}
LIMIT :most
)";

/// What examine() says of holders that are dead.
void examine_dead_holders(const store_overview& all, findings& found);

/// A table of the application's whose rows are locked in place by the columns of dlock::lock_columns, or, without
/// `own_expiry`, of dlock::expiring_lock_columns. `quote`: of names.
row_table make_row_table(std::string table, char quote, bool own_expiry, bool version);

/// For messages: "host/pid label".
std::string describe_holder(std::string_view host, std::int64_t pid, std::string_view label);

}  // namespace dlock::stores::sql
