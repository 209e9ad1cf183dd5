// SPDX-License-Identifier: BSL-1.0
#include "simulation/waiter_table.hpp"

#include <algorithm>

namespace dlock::simulation {

void waiter_table::leave(const std::string& key, std::uint64_t bell) {
  const auto found = rows_.find(key);
  if (found != rows_.end()) std::erase_if(found->second, [&](const row& each) { return each.bell == bell; });
}

waiter_table::row* waiter_table::find(std::string_view key, std::uint64_t bell) noexcept {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return nullptr;
  const auto at =
      std::find_if(found->second.begin(), found->second.end(), [&](const row& each) { return each.bell == bell; });
  return at == found->second.end() ? nullptr : &*at;
}

void waiter_table::ended(std::uint64_t bell) noexcept {
  bells_.erase(bell);
  present_.erase(bell);
}

bool waiter_table::end_sleep(std::uint64_t bell, std::uint64_t sleep) noexcept {
  const auto found = bells_.find(bell);
  if (found == bells_.end() || found->second != sleep || sleep == 0) return false;
  found->second = 0;
  return true;
}

bool waiter_table::ring(std::uint64_t bell) noexcept {
  const auto found = bells_.find(bell);
  if (found == bells_.end()) return false;
  if (end_sleep(bell, found->second)) woken(bell);
  return true;
}

std::uint64_t waiter_table::first(std::string_view key, std::uint64_t own) const noexcept {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return 0;
  const auto at = std::find_if(found->second.begin(), found->second.end(), [&](const row& each) {
    return each.bell != own && (has_bell(each.bell) || wrong == mistake::dead_waiter_woken);
  });
  return at == found->second.end() ? 0 : at->bell;
}

std::vector<waiter_table::row> waiter_table::earlier(std::string_view key, std::uint64_t own, bool registered) const {
  std::vector<row> all;
  const auto found = rows_.find(key);
  if (found == rows_.end()) return all;
  for (const auto& each : found->second) {
    if (each.bell == own && registered) break;
    if (each.bell != own && (present_.contains(each.bell) || wrong == mistake::dead_waiter_first)) all.push_back(each);
  }
  return all;
}

}  // namespace dlock::simulation
