// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/owner.hpp"

#include <utility>

#include "engine/engine.hpp"
#include "engine/fork_guard.hpp"

namespace dlock {

namespace detail {

namespace {

thread_local std::shared_ptr<owner_state> current;

}  // namespace

const std::shared_ptr<owner_state>& current_owner() {
  if (current == nullptr || current->generation != fork_generation()) {
    // A forked child owns nothing. What its parent held is left alone, not even its memory is touched.
    if (current != nullptr) static_cast<void>(new std::shared_ptr<owner_state>(std::move(current)));
    current = std::make_shared<owner_state>();
  }
  return current;
}

}  // namespace detail

owner::owner() : state_(std::make_shared<detail::owner_state>()) {}

owner owner::current() { return owner(detail::current_owner()); }

owner_scope::owner_scope(owner who) noexcept : before_(std::exchange(detail::current, std::move(who.state_))) {}

owner_scope::~owner_scope() { detail::current = std::move(before_); }

}  // namespace dlock
