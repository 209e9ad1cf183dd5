// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sql/holder_rows.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace dlock::stores::sql {

holder_info described(const entities::held_lock_view& row) {
  using std::chrono::microseconds;
  holder_info made;
  made.key.assign(row.lock_key.begin(), row.lock_key.end());
  std::copy(row.session_id.begin(), row.session_id.end(), made.session.bytes.begin());
  made.fence = row.fence;
  made.host = row.host;
  made.pid = row.pid;
  made.label = row.label;
  made.kind = row.kept ? lease_kind::session : lease_kind::expiring;
  made.revoked = row.revoked;
  made.dead = row.dead;
  made.since = microseconds{row.since_us};
  made.left = microseconds{std::max<std::int64_t>(0, row.left_us)};
  return made;
}

}  // namespace dlock::stores::sql
