// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/holder_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace dlock::stores::sql {

holder_info described(const entities::held_lock_view& row) {
  using std::chrono::microseconds;
  holder_info info;
  info.key.assign(row.lock_key.begin(), row.lock_key.end());
  std::copy(row.session_id.begin(), row.session_id.end(), info.session.bytes.begin());
  info.fence = row.fence;
  info.host = row.host;
  info.pid = row.pid;
  info.label = row.label;
  info.kind = row.kept ? lease_kind::session : lease_kind::expiring;
  info.revoked = row.revoked;
  info.dead = row.dead;
  info.since = microseconds{row.since_us};
  info.remaining = microseconds{std::max<std::int64_t>(0, row.remaining_us)};
  return info;
}

std::string describe_holder(std::string_view host, std::int64_t pid, std::string_view label) {
  return fmt::format("{}/{}{}{}", host, pid, label.empty() ? "" : " ", label);
}

}  // namespace dlock::stores::sql
