// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>

#include "base/mutex.hpp"
#include "engine/books/grant.hpp"

namespace dlock::engine {

/// Knows the local deadlines of single grants: of an expiry of their own, and of max_hold. (Those of sessions are
/// session_keeper's.) Does no I/O and runs no user code, so it is never late because of either.
/// Thread safety: all functions from any thread.
class deadline_timer {
 public:
  using passed = std::function<void(const std::shared_ptr<grant>&, instant)>;
  using sooner = std::function<void(instant)>;

  /// `on_passed`: a deadline has come; called by tick(), without a lock. `on_sooner`: tick() is wanted by then.
  deadline_timer(passed on_passed, sooner on_sooner) : passed_(std::move(on_passed)), sooner_(std::move(on_sooner)) {}

  /// Makes what set() needs, so that it can't fail.
  static void make_room(grant& grant);
  /// Unless the grant is not held any more. Precondition: make_room() was called for it once.
  void set(grant& grant, instant when) noexcept;
  /// Once it is not held any more, before it is destroyed.
  void clear(grant& grant) noexcept;

  /// Returns when to come back.
  instant tick(instant now) noexcept;

 private:
  const passed passed_;
  const sooner sooner_;
  base::mutex mutex_;
  deadline_heap<grant_deadline> timers_ DLOCK_GUARDED_BY(mutex_){&grant_deadline::link};
};

}  // namespace dlock::engine
