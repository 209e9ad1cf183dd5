// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// Items that wait for a time, the earliest at the front. A pairing heap that links through its items, so nothing can
/// fail. An item must leave it before it is destroyed.
template <class Item>
class deadline_heap {
 public:
  /// A member of an item, by which it is in one heap at a time.
  class link {
   public:
    bool set() const noexcept { return set_; }

   private:
    friend class deadline_heap;
    instant until_{};
    Item* child_ = nullptr;     // the first of its children, none of which comes before it
    Item* next_ = nullptr;      // its next sibling
    Item* previous_ = nullptr;  // its previous sibling, or its parent if it is the first child
    bool set_ = false;
  };

  explicit deadline_heap(link Item::*link_of) noexcept : link_(link_of) {}

  bool empty() const noexcept { return first_ == nullptr; }
  /// instant::max() if the heap is empty.
  instant first() const noexcept { return empty() ? instant::max() : (first_->*link_).until_; }
  Item& front() const noexcept { return *first_; }
  /// Adds or moves it. Returns whether it is the first now.
  bool set(Item& item, instant until) noexcept {
    remove(item);
    auto& own = item.*link_;
    own.until_ = until;
    own.set_ = true;
    first_ = joined(first_, &item);
    return first_ == &item;
  }
  /// Removes it if it is there.
  void remove(Item& item) noexcept {
    auto& own = item.*link_;
    if (!own.set_) return;
    Item* const below = joined_list(own.child_);
    if (first_ == &item) {
      first_ = below;
    } else {
      auto& before = own.previous_->*link_;
      (before.child_ == &item ? before.child_ : before.next_) = own.next_;
      if (own.next_ != nullptr) (own.next_->*link_).previous_ = own.previous_;
      first_ = joined(first_, below);
    }
    own = {};
  }
  Item& take_first() noexcept {
    auto& first = front();
    remove(first);
    return first;
  }

 private:
  /// Joins two heaps, one of which may be empty: the later one becomes the first child of the earlier one.
  Item* joined(Item* a, Item* b) const noexcept {
    if (a == nullptr || b == nullptr) return a != nullptr ? a : b;
    if ((b->*link_).until_ < (a->*link_).until_) std::swap(a, b);
    auto& top = a->*link_;
    auto& below = b->*link_;
    below.previous_ = a;
    below.next_ = std::exchange(top.child_, b);
    if (below.next_ != nullptr) (below.next_->*link_).previous_ = b;
    return a;
  }
  /// Joins children, first in pairs and then the pairs, which keeps the heap flat.
  Item* joined_list(Item* child) const noexcept {
    Item* pairs = nullptr;
    while (child != nullptr) {
      Item* const second = (child->*link_).next_;
      Item* const rest = second != nullptr ? (second->*link_).next_ : nullptr;
      Item* const pair = joined(child, second);
      (pair->*link_).next_ = std::exchange(pairs, pair);
      child = rest;
    }
    Item* all = nullptr;
    while (pairs != nullptr) all = joined(all, std::exchange(pairs, (pairs->*link_).next_));
    return all;
  }

  link Item::*link_;
  Item* first_ = nullptr;
};

}  // namespace dlock::engine
