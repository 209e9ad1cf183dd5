// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// Those that wait for a time to come, the first at the front. Each knows its place, so that it can leave; adding one
/// that there is room for can't fail.
template <class Item>
class deadline_heap {
 public:
  /// Of an item: where it stands, counted from 1. 0: nowhere.
  using position = std::size_t;

  explicit deadline_heap(position Item::*position_of) noexcept : position_of_(position_of) {}

  /// For so many. Throws std::bad_alloc.
  void make_room(std::size_t items) {
    if (items > all_.capacity()) all_.reserve(items + items / 2);
  }
  /// instant::max(): there is none.
  instant first() const noexcept { return all_.empty() ? instant::max() : all_.front().first; }
  Item& front() const noexcept { return *all_.front().second; }
  void add(Item& item, instant until) noexcept {
    all_.emplace_back(until, &item);
    rise(all_.size() - 1);
  }
  /// If it is there.
  void remove(Item& item) noexcept {
    const auto at = std::exchange(item.*position_of_, 0);
    if (at == 0) return;
    const auto last = all_.back();
    all_.pop_back();
    if (last.second == &item) return;
    put(at - 1, last);
    rise(at - 1);
    sink(last.second->*position_of_ - 1);
  }
  template <class Use>
  void for_each(Use use) const {
    for (const auto& each : all_) use(*each.second);
  }

 private:
  using entry = std::pair<instant, Item*>;

  void put(std::size_t at, const entry& moved) noexcept {
    all_[at] = moved;
    moved.second->*position_of_ = at + 1;
  }
  void rise(std::size_t at) noexcept {
    const auto moved = all_[at];
    for (; at > 0 && moved.first < all_[(at - 1) / 2].first; at = (at - 1) / 2) put(at, all_[(at - 1) / 2]);
    put(at, moved);
  }
  void sink(std::size_t at) noexcept {
    const auto moved = all_[at];
    for (;;) {
      auto below = 2 * at + 1;
      if (below >= all_.size()) break;
      if (below + 1 < all_.size() && all_[below + 1].first < all_[below].first) ++below;
      if (moved.first <= all_[below].first) break;
      put(at, all_[below]);
      at = below;
    }
    put(at, moved);
  }

  position Item::*position_of_;
  std::vector<entry> all_{};
};

}  // namespace dlock::engine
