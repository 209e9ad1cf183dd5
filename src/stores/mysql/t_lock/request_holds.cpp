// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/t_lock/request_holds.hpp"

#include <algorithm>

namespace dlock::stores::mysql::t_lock {

void request_holds::expect(const request& attempt, std::int64_t now) {
  const base::lock_guard lock(mutex_);
  if (holds_.size() >= enough_) {
    // A holder that lets its lease expire need not release it.
    std::erase_if(holds_, [&](const auto& each) { return each.second.until != 0 && each.second.until < now; });
    enough_ = std::max<std::size_t>(64, 2 * holds_.size());
  }
  holds_.try_emplace(name_of(attempt));
}

request_holds::hold* request_holds::find(const request& attempt) noexcept {
  const auto at = holds_.find(name_of(attempt));
  return at != holds_.end() ? &at->second : nullptr;
}

void request_holds::keep(const request& attempt, std::int64_t until) noexcept {
  const base::lock_guard lock(mutex_);
  if (auto* const held = find(attempt); held != nullptr) held->until = std::max(held->until, until);
}

std::optional<std::int64_t> request_holds::use(const request& attempt, bool last) noexcept {
  const base::lock_guard lock(mutex_);
  auto* const held = find(attempt);
  if (held == nullptr || held->until == 0 || held->spent) return {};
  held->spent = last;
  return held->until;
}

bool request_holds::spent(const request& attempt) noexcept {
  const base::lock_guard lock(mutex_);
  const auto* const held = find(attempt);
  return held != nullptr && held->spent;
}

void request_holds::unspend(const request& attempt) noexcept {
  const base::lock_guard lock(mutex_);
  if (auto* const held = find(attempt); held != nullptr) held->spent = false;
}

void request_holds::forget(const request& attempt) noexcept {
  const base::lock_guard lock(mutex_);
  holds_.erase(name_of(attempt));
}

}  // namespace dlock::stores::mysql::t_lock
