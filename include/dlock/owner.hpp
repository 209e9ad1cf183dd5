// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// Re-entry is by owner, not by thread id. Unless told otherwise, a thread is one owner. A task, a request or a
/// coroutine that may move between threads, or shares a thread with others, carries its own:
///
///   dlock::owner me;                        // once per task
///   dlock::owner_scope here{me};            // wherever the task runs
///
/// While the scope lives, acquires on this thread are made in the name of that owner.

#include "dlock/detail/cxx20.hpp"
//
#include <memory>

namespace dlock {

namespace detail {
struct owner_state;
const std::shared_ptr<owner_state>& current_owner();
}  // namespace detail

/// Somebody who may hold locks. Copies are the same owner. Thread safety: like std::shared_ptr.
class owner {
 public:
  /// A new owner, different from every other.
  owner();
  /// The present thread's: that of the innermost owner_scope, else the thread's own.
  static owner current();
  friend bool operator==(const owner&, const owner&) noexcept = default;

 private:
  friend class owner_scope;
  explicit owner(std::shared_ptr<detail::owner_state> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<detail::owner_state> state_;
};

/// Makes an owner the current one of this thread while it lives. Scopes nest; destroy in reverse order, on the thread
/// that made it. Must not stay open over a suspension of a coroutine.
class owner_scope {
 public:
  explicit owner_scope(owner who = owner{}) noexcept;
  ~owner_scope();
  owner_scope(const owner_scope&) = delete;
  owner_scope& operator=(const owner_scope&) = delete;

 private:
  std::shared_ptr<detail::owner_state> before_;
};

}  // namespace dlock
