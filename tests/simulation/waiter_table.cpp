// SPDX-License-Identifier: BSL-1.0
#include "simulation/waiter_table.hpp"

#include <algorithm>

namespace dlock::simulation {

void waiter_table::leave(const std::string& key, std::uint64_t wake_id) {
  const auto found = rows_.find(key);
  if (found != rows_.end()) std::erase_if(found->second, [&](const row& each) { return each.wake_id == wake_id; });
}

waiter_table::row* waiter_table::find(std::string_view key, std::uint64_t wake_id) noexcept {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return nullptr;
  const auto at = std::find_if(found->second.begin(), found->second.end(),
                               [&](const row& each) { return each.wake_id == wake_id; });
  return at == found->second.end() ? nullptr : &*at;
}

void waiter_table::ended(std::uint64_t wake_id) noexcept {
  sleeps_.erase(wake_id);
  present_.erase(wake_id);
}

bool waiter_table::end_sleep(std::uint64_t wake_id, std::uint64_t sleep) noexcept {
  const auto found = sleeps_.find(wake_id);
  if (found == sleeps_.end() || found->second != sleep || sleep == 0) return false;
  found->second = 0;
  return true;
}

bool waiter_table::ring(std::uint64_t wake_id) noexcept {
  const auto found = sleeps_.find(wake_id);
  if (found == sleeps_.end()) return false;
  if (end_sleep(wake_id, found->second)) woken(wake_id);
  return true;
}

std::uint64_t waiter_table::first(std::string_view key, std::uint64_t own) const noexcept {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return 0;
  const auto at = std::find_if(found->second.begin(), found->second.end(), [&](const row& each) {
    return each.wake_id != own && (holds(each.wake_id) || wrong == mistake::dead_waiter_woken);
  });
  return at == found->second.end() ? 0 : at->wake_id;
}

std::vector<waiter_table::row> waiter_table::earlier(std::string_view key, std::uint64_t own, bool registered) const {
  std::vector<row> all;
  const auto found = rows_.find(key);
  if (found == rows_.end()) return all;
  for (const auto& each : found->second) {
    if (each.wake_id == own && registered) break;
    if (each.wake_id != own && (present_.contains(each.wake_id) || wrong == mistake::dead_waiter_first))
      all.push_back(each);
  }
  return all;
}

}  // namespace dlock::simulation
