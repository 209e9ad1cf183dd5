// SPDX-License-Identifier: BSL-1.0
#include "rates.hpp"

#include <utility>

namespace dlock::command {

rates::per_second rates::next(const store_overview& now, std::chrono::steady_clock::time_point at) {
  per_second found;
  const double seconds = std::chrono::duration<double>(at - at_).count();
  std::map<id128, seen_session> sessions;
  for (const auto& each : now.sessions) {
    const bool late = each.ttl.count() != 0 && each.remaining < each.ttl / 2;
    sessions[each.id] = {each.locks, each.dead, late};
  }
  if (known_ && seconds > 0) {
    if (now.grants && grants_ && *now.grants >= *grants_ && now.keys >= keys_) {
      found.grants = static_cast<double>(*now.grants - *grants_) / seconds;
    }
    std::uint64_t lost = 0;
    for (const auto& [id, before] : sessions_) {
      if (before.dead) continue;
      const auto still = sessions.find(id);
      const bool died = still != sessions.end() ? still->second.dead : before.late;
      if (died) lost += before.locks;
    }
    found.losses = static_cast<double>(lost) / seconds;
  }
  known_ = true;
  at_ = at;
  keys_ = now.keys;
  grants_ = now.grants;
  sessions_ = std::move(sessions);
  return found;
}

}  // namespace dlock::command
