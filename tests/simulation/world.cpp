// SPDX-License-Identifier: GPL-2.0-or-later
#include "simulation/world.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace dlock::simulation {

void world::at(moment when, std::function<void()> what) {
  std::uint64_t place = 0;
  if (free_.empty()) {
    place = things_.size();
    things_.push_back(std::move(what));
  } else {
    place = free_.back();
    free_.pop_back();
    things_[place] = std::move(what);
  }
  heap_.push_back({std::max(when, now_), random.bits(), nullptr, place});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

void world::at(moment when, sleeper& who, std::uint64_t turn) {
  heap_.push_back({std::max(when, now_), random.bits(), &who, turn});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

bool world::run(const std::function<bool()>& done, moment until) {
  while (!failed() && !done()) {
    if (heap_.empty() || heap_.front().when > until) {
      if (!heap_.empty()) now_ = until;
      return false;
    }
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const auto next = heap_.back();
    heap_.pop_back();
    now_ = next.when;
    ++steps_;
    if (next.who != nullptr) {
      next.who->due(next.place);
      continue;
    }
    const auto what = std::exchange(things_[next.place], nullptr);
    free_.push_back(next.place);
    what();
  }
  return !failed();
}

void world::fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

}  // namespace dlock::simulation
