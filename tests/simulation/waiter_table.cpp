// SPDX-License-Identifier: BSL-1.0
#include "simulation/waiter_table.hpp"

#include <algorithm>
#include <utility>

namespace dlock::simulation {

void waiter_table::enter(const std::string& key, std::uint64_t wake_id, const id128& session,
                         std::optional<moment> begun) {
  auto& all = rows_[key];
  const auto since = begun ? *begun : ++last_place_;
  const auto behind = std::find_if(all.begin(), all.end(), [&](const row& each) {
    return std::pair(each.since, each.wake_id) > std::pair(since, wake_id);
  });
  all.insert(behind, {.since = since, .wake_id = wake_id, .session = session, .held = {}});
}

void waiter_table::pass_over(const std::string& key, const row& first) {
  if (wrong == mistake::passed_over_until_woken) {
    if (auto* const left = find(key, first.wake_id)) left->passed_over = true;
    return;
  }
  const auto found = rows_.find(key);
  if (found == rows_.end()) return;
  std::erase_if(found->second,
                [&](const row& each) { return each.wake_id == first.wake_id && each.since == first.since; });
}

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

std::uint64_t waiter_table::first(std::string_view key, std::uint64_t own) noexcept {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return 0;
  const auto at = std::find_if(found->second.begin(), found->second.end(), [&](const row& each) {
    return each.wake_id != own && (holds(each.wake_id) || wrong == mistake::dead_waiter_woken);
  });
  if (at == found->second.end()) return 0;
  at->passed_over = false;
  return at->wake_id;
}

std::vector<waiter_table::row> waiter_table::earlier(std::string_view key, std::uint64_t own, bool registered) const {
  std::vector<row> all;
  const auto found = rows_.find(key);
  if (found == rows_.end()) return all;
  for (const auto& each : found->second) {
    if (each.wake_id == own && registered) break;
    if (each.wake_id == own || each.passed_over) continue;
    if (present_.contains(each.wake_id) || wrong == mistake::dead_waiter_first) all.push_back(each);
  }
  return all;
}

std::optional<waiter_table::row> waiter_table::first_of_others(std::string_view key, std::uint64_t own,
                                                               bool registered) const {
  auto all = earlier(key, own, registered);
  return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
}

std::size_t waiter_table::ahead(std::string_view key, std::uint64_t own) const {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return 0;
  const auto mine =
      std::find_if(found->second.begin(), found->second.end(), [&](const row& each) { return each.wake_id == own; });
  return static_cast<std::size_t>(mine - found->second.begin());
}

}  // namespace dlock::simulation
