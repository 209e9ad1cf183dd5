// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/redlock/votes.hpp"

#include <algorithm>

#include "stores/redis/setnx/values.hpp"

namespace dlock::stores::redis::redlock {

namespace {

template <class Test>
std::size_t count(std::span<const ballot> all, Test&& test) noexcept {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), test));
}
std::size_t count(std::span<const ballot> all, vote said) noexcept {
  return count(all, [said](const ballot& each) { return each.said == said; });
}
std::size_t counted(std::span<const ballot> all, vote said) noexcept {
  return count(all, [said](const ballot& each) { return each.said == said && each.votes; });
}
outcome without_majority(std::span<const ballot> all) noexcept {
  return count(all, vote::silent) > 0 ? outcome::unknown : outcome::failed;
}

/// The number of masters that say that the lease has ended. A master that was restarted lately may have forgotten the
/// key, and no other owner can have been granted it there since, so its missing key says nothing.
std::size_t against(std::span<const ballot> all) noexcept { return count(all, vote::no) + counted(all, vote::gone); }

}  // namespace

vote vote_of(verb action, const answer& response) noexcept {
  if (response.is_error()) return vote::refused;
  if (action == verb::poll) return vote::yes;
  if (action == verb::take || action == verb::insert) return response.is_nothing() ? vote::no : vote::yes;
  if (response.number() < 0) return vote::gone;
  return response.number() > 0 ? vote::yes : vote::no;  // a release returns the number of notified waiters
}

outcome take_outcome(std::span<const ballot> all, majority of) noexcept {
  const auto yes = counted(all, vote::yes);
  if (yes >= of.quorum) return outcome::yes;
  // The number of yes votes is too small for a grant, but what may be left of it can still exclude all others.
  if (of.blocks(count(all, [](const ballot& each) { return each.remains; }))) return outcome::unknown;
  return yes + counted(all, vote::no) >= of.quorum ? outcome::no : outcome::failed;
}

outcome extend_outcome(std::span<const ballot> all, majority of) noexcept {
  if (counted(all, vote::yes) >= of.quorum) return outcome::yes;
  if (of.blocks(against(all))) return outcome::no;
  return without_majority(all);
}

outcome release_outcome(std::span<const ballot> all, majority of) noexcept {
  const auto yes = count(all, vote::yes), no = count(all, vote::no) + count(all, vote::gone);
  if (of.blocks(against(all))) return outcome::no;
  // The remaining time is too short to exclude other owners.
  if (yes + no >= of.quorum) return outcome::yes;
  return without_majority(all);
}

outcome cancel_outcome(std::span<const ballot> all, majority of) noexcept {
  const auto yes = count(all, vote::yes), no = count(all, vote::no) + count(all, vote::gone);
  if (yes >= of.quorum) return outcome::yes;
  return yes + no >= of.quorum ? outcome::no : without_majority(all);
}

sight poll_result(std::span<const ballot> all, majority of) {
  if (counted(all, vote::yes) < of.quorum) return {.result = without_majority(all)};
  std::map<std::string_view, std::size_t> values;
  std::vector<microseconds> times;  // until each master is free
  sight found{.result = outcome::absent};
  std::size_t most = 0;
  for (const auto& each : all) {
    if (each.said != vote::yes || !each.votes) continue;
    if (each.response->is_nothing()) {
      times.push_back({});
      continue;
    }
    const auto value = (*each.response)[0].text();
    times.push_back(std::max(setnx::remaining_in((*each.response)[1]),
                             microseconds{1}));  // a remaining time below a millisecond is not over
    if (const auto masters = ++values[value]; masters > most) {
      most = masters;
      found.value = value;
    }
  }
  const auto last = times.begin() + static_cast<std::ptrdiff_t>(of.quorum - 1);
  std::nth_element(times.begin(), last, times.end());
  found.remaining = *last;
  found.held = most >= of.quorum;
  if (found.remaining > microseconds{0}) found.result = outcome::yes;
  return found;
}

std::vector<bool> missing_keys::again(const std::string& lease, const std::vector<bool>& missing, time_point now,
                                      time_point until) {
  std::vector<bool> both(missing.size(), false);
  constexpr std::size_t few = 1000;  // so few are not searched for ended ones
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

bool published_releases::add(std::string_view key, std::string_view value) {
  const base::lock_guard lock(mutex_);
  auto& last = last_[std::string(key)];
  auto found = std::find_if(last.begin(), last.end(), [&](const auto& each) { return each.value == value; });
  if (found == last.end()) {
    if (last.size() == most_values) last.pop_back();
    found = last.insert(last.begin(), {std::string(value), 0});
  }
  return ++found->masters == quorum_;
}

void published_releases::forget(std::string_view key) {
  const base::lock_guard lock(mutex_);
  if (const auto found = last_.find(key); found != last_.end()) last_.erase(found);
}

}  // namespace dlock::stores::redis::redlock
