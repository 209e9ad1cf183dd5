// SPDX-License-Identifier: BSL-1.0
#include "simulation/world.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace dlock::simulation {

namespace {
/// A hundred times as many steps as there are in a second.
constexpr std::uint64_t many = 1U << 20U;
}  // namespace

void world::at(moment when, std::function<void()> what) {
  std::uint64_t position = 0;
  if (free_.empty()) {
    position = things_.size();
    things_.push_back(std::move(what));
  } else {
    position = free_.back();
    free_.pop_back();
    things_[position] = std::move(what);
  }
  push(when, nullptr, position);
}

void world::push(moment when, sleeper* who, std::uint64_t position) {
  constexpr auto moments = 64 - chance_bits;
  // 8 years are as good as never.
  const auto then = std::min(static_cast<std::uint64_t>(std::max(when, now_)), (std::uint64_t{1} << moments) - 1);
  const entry made{then << chance_bits | random.bits() >> moments, who, position};
  auto at = heap_.size();
  heap_.push_back(made);
  for (; at > 0 && heap_[(at - 1) / 4].order > made.order; at = (at - 1) / 4) heap_[at] = heap_[(at - 1) / 4];
  heap_[at] = made;
}

world::entry world::pop() {
  const auto first = heap_.front();
  const auto last = heap_.back();
  heap_.pop_back();
  const auto size = heap_.size();
  std::size_t at = 0;
  for (auto child = 4 * at + 1; child < size; child = 4 * at + 1) {
    for (auto other = child + 1, end = std::min(child + 3, size - 1); other <= end; ++other) {
      if (heap_[other].order < heap_[child].order) child = other;
    }
    if (heap_[child].order >= last.order) break;
    heap_[at] = heap_[child];
    at = child;
  }
  if (size > 0) heap_[at] = last;
  return first;
}

bool world::run(const std::function<bool()>& done, moment until) {
  while (!failed() && !done()) {
    if (heap_.empty() || heap_.front().when() > until) {
      if (!heap_.empty()) now_ = until;
      return false;
    }
    const auto next = pop();
    now_ = next.when();
    if (++steps_ % many == 0) {
      if (now_ - then_ < second) fail("liveness: something goes on without an end, and time stands still");
      then_ = now_;
    }
    if (next.who != nullptr) {
      next.who->due(next.position);
      continue;
    }
    const auto what = std::exchange(things_[next.position], nullptr);
    free_.push_back(next.position);
    what();
  }
  return !failed();
}

void world::fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

}  // namespace dlock::simulation
