// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/redlock/missing_keys.hpp"

#include <algorithm>

namespace dlock::stores::redis::redlock {

namespace {
/// Fewer than these are not looked through for those that have ended.
constexpr std::size_t few = 1000;
}  // namespace

std::vector<bool> missing_keys::again(const std::string& lease, const std::vector<bool>& missing, time_point now,
                                      time_point until) {
  std::vector<bool> both(missing.size(), false);
  const bool any = std::find(missing.begin(), missing.end(), true) != missing.end();
  const base::lock_guard lock(mutex_);
  const auto found = leases_.find(lease);
  if (found != leases_.end() && now < found->second.until) {
    for (std::size_t m = 0; m < both.size(); ++m) both[m] = missing[m] && found->second.masters[m];
  }
  if (!any) {
    if (found != leases_.end()) leases_.erase(found);
    return both;
  }
  leases_.insert_or_assign(lease, entry{missing, until});
  if (leases_.size() > std::max(cleanup_cursor_, few)) {
    std::erase_if(leases_, [now](const auto& each) { return each.second.until <= now; });
    cleanup_cursor_ = 2 * leases_.size();
  }
  return both;
}

void missing_keys::forget(const std::string& lease) {
  const base::lock_guard lock(mutex_);
  leases_.erase(lease);
}

std::size_t missing_keys::size() const {
  const base::lock_guard lock(mutex_);
  return leases_.size();
}

}  // namespace dlock::stores::redis::redlock
