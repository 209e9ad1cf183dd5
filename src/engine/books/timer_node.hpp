// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "engine/books/grant.hpp"

namespace dlock::engine {

/// The place of a grant among others in the order of their times, for which there is room from the beginning.
struct timer_node {
  using all = std::multimap<instant, std::weak_ptr<grant>>;

  timer_node() {
    all node;
    node.emplace(instant{}, std::weak_ptr<grant>());
    room = node.extract(node.begin());
  }

  /// Precondition: it is among no others than these. Says whether it is the first.
  bool set_in(all& others, const std::shared_ptr<grant>& whose, instant when) noexcept {
    auto free = set ? others.extract(at) : std::move(room);
    free.key() = when;
    free.mapped() = whose;
    at = others.insert(std::move(free));
    set = true;
    return at == others.begin();
  }
  void clear_in(all& others) noexcept {
    if (!set) return;
    room = others.extract(at);
    room.mapped().reset();
    set = false;
  }
  /// Takes the first from them; null: its grant's end has begun.
  static std::shared_ptr<grant> take_first(all& others, timer_node& (*of)(grant& first)) noexcept {
    auto free = others.extract(others.begin());
    auto first = free.mapped().lock();
    if (first == nullptr) return nullptr;
    free.mapped().reset();
    of(*first).room = std::move(free);
    of(*first).set = false;
    return first;
  }

  all::iterator at{};
  all::node_type room{};  ///< while it is not among them
  bool set = false;
};

}  // namespace dlock::engine
