// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/leases/held_locks.hpp"

#include <algorithm>
#include <exception>

namespace dlock::stores::redis::leases {

void held_locks::granted(const id128& session, std::string_view key, std::uint64_t fence) noexcept {
  try {
    const base::lock_guard lock(mutex_);
    sessions_[session].locks.insert_or_assign(std::string(key), fence);
  } catch (const std::exception&) {
    // Without memory nothing looks for this one.
  }
}

void held_locks::ended(const id128& session, std::string_view key) noexcept {
  const base::lock_guard lock(mutex_);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  auto& locks = found->second.locks;
  if (const auto at = locks.find(key); at != locks.end()) locks.erase(at);
  if (locks.empty()) sessions_.erase(found);
}

void held_locks::forget(const id128& session) noexcept {
  const base::lock_guard lock(mutex_);
  sessions_.erase(session);
}

std::vector<held_locks::held> held_locks::next(const id128& session, std::size_t most) {
  const base::lock_guard lock(mutex_);
  std::vector<held_locks::held> some;
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return some;
  auto& [locks, last] = found->second;
  const auto count = std::min(most, locks.size());
  some.reserve(count);
  for (auto at = locks.upper_bound(last); some.size() < count; ++at) {
    if (at == locks.end()) at = locks.begin();
    some.push_back({at->first, at->second});
  }
  if (!some.empty()) last = some.back().key;
  return some;
}

}  // namespace dlock::stores::redis::leases
