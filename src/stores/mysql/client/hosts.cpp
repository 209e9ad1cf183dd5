// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/hosts.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace dlock::stores::mysql {

using namespace std::chrono_literals;

namespace {
constexpr auto lately = 1min;
constexpr microseconds least = 100ms;  // of a share
constexpr microseconds most = 1s;      // of a host that has given no reason for more
}  // namespace

mysql_hosts::mysql_hosts(std::size_t count, microseconds longest) : longest_(longest), states_(count) {}

std::vector<std::size_t> mysql_hosts::order(clock::time_point now) const {
  const base::lock_guard lock(mutex_);
  std::vector<std::size_t> hosts(states_.size());
  std::iota(hosts.begin(), hosts.end(), std::size_t{0});
  const auto rank = [&](std::size_t host) {
    mutex_.assert_held();
    const auto& at = states_[host];
    const bool failed = at.failed != clock::time_point{} && now - at.failed < lately;
    if (!failed) return std::tuple(host == good_ ? 0 : 1, 0us, clock::time_point{});
    return std::tuple(at.allowed == 0us ? 2 : 3, -at.allowed, at.failed);
  };
  std::stable_sort(hosts.begin(), hosts.end(),
                   [&](std::size_t left, std::size_t right) { return rank(left) < rank(right); });
  return hosts;
}

microseconds mysql_hosts::share(std::size_t host, std::size_t others, microseconds remaining) const {
  if (others == 0) return longest_;
  const base::lock_guard lock(mutex_);
  const auto needed = std::max(least, 2 * states_[host].took);
  const auto equal = remaining / static_cast<microseconds::rep>(others + 1);
  return std::min(longest_, std::clamp(equal, needed, std::max(needed, most)));
}

void mysql_hosts::succeeded(std::size_t host, microseconds took) {
  const base::lock_guard lock(mutex_);
  auto& at = states_[host];
  at.took = took;
  at.failed = {};
  good_ = host;
}

void mysql_hosts::failed(std::size_t host, clock::time_point now, microseconds allowed) {
  const base::lock_guard lock(mutex_);
  auto& at = states_[host];
  at.failed = now;
  at.allowed = allowed;
}

void mysql_hosts::refuses(std::size_t host, std::uint64_t seen, clock::time_point now) {
  // Others that find it out as well tell nothing new: a connection made meanwhile would be dropped for that.
  if (states_[host].refusals.compare_exchange_strong(seen, seen + 1)) failed(host, now, 0us);
}

}  // namespace dlock::stores::mysql
