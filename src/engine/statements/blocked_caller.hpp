// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <cstddef>
#include <utility>

#include "base/mutex.hpp"
#include "dlock/store/clock.hpp"

namespace dlock::engine {

/// A thread that waits for answers, and executes a batch with one of its own statements itself where it can. Lives on its
/// stack. It sleeps on a mutex of its own, so that those who are woken together don't stand in line for the executor's.
class blocked_caller {
 public:
  struct woken {
    bool answered = false;  ///< all are; nobody else knows it any more
    bool called = false;    ///< somebody counts on it to look
  };

  explicit blocked_caller(time_source& time) noexcept : time_(time) {}

  // Guarded by the executor's mutex:
  std::size_t open = 0;  ///< statements without an answer
  bool leads = false;    ///< it executes a batch now

  /// There is something to do for it under the executor's mutex, which is held.
  void call() noexcept {
    const base::lock_guard lock(mutex_);
    called_ = true;
    time_.notify(wake_);
  }
  /// `open` is 0. The last thing that anybody does with it: it may be gone already when this returns.
  void answer() noexcept {
    const base::lock_guard lock(mutex_);
    answered_ = true;
    time_.notify(wake_);
  }
  /// Until it is called or answered, or until then. May return early. The executor's mutex is open.
  woken sleep(instant until) {
    base::unique_lock lock(mutex_);
    if (!called_ && !answered_) time_.wait_until(wake_, lock.native(), until);
    return {answered_, std::exchange(called_, false)};
  }
  /// `open` is 0: whoever saw to that is about to say so. The executor's mutex is open.
  void wait_for_answer() {
    base::unique_lock lock(mutex_);
    while (!answered_) time_.wait_until(wake_, lock.native(), instant::max());
  }

 private:
  time_source& time_;
  base::mutex mutex_;
  std::condition_variable wake_;
  bool called_ DLOCK_GUARDED_BY(mutex_) = false;
  bool answered_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
