// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/owner.hpp"

#include <utility>

#include "engine/engine.hpp"
#include "engine/fork_guard.hpp"

namespace dlock {

namespace detail {

namespace {

struct here {
  std::shared_ptr<owner_state> who{};
  unsigned generation = 0;
};
thread_local here current;

}  // namespace

const std::shared_ptr<owner_state>& current_owner() {
  if (current.who == nullptr || current.generation != fork_generation()) {
    // A forked child owns nothing. What its parent held is left alone, not even its memory is touched.
    if (current.who != nullptr) static_cast<void>(new std::shared_ptr<owner_state>(std::move(current.who)));
    current = {std::make_shared<owner_state>(), fork_generation()};
  }
  return current.who;
}

}  // namespace detail

owner::owner() : state_(std::make_shared<detail::owner_state>()) {}

owner owner::current() { return owner(detail::current_owner()); }

owner_scope::owner_scope(owner who) noexcept : before_(std::exchange(detail::current.who, std::move(who.state_))) {
  detail::current.generation = detail::fork_generation();
}

owner_scope::~owner_scope() { detail::current.who = std::move(before_); }

}  // namespace dlock
