// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <utility>

#include "base/mutex.hpp"
#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// A thread that waits for answers, and where possible executes a batch with one of its own statements. The object is
/// on the thread's stack. The thread sleeps on a separate mutex, so that callers that are woken together don't queue
/// for the executor's.
class blocked_caller {
 public:
  struct woken {
    bool answered = false;  ///< all are answered; no other thread uses this object any more
    bool called = false;    ///< another thread relies on it to check for work
  };

  /// A thread that was called and has not come within this time may be stopped, by a debugger for example. Other
  /// threads execute its statements then.
  static constexpr std::chrono::microseconds grace = std::chrono::milliseconds{5};

  explicit blocked_caller(time_source& time) noexcept : time_(time) {}

  // Guarded by the executor's mutex:
  std::size_t open = 0;         ///< the number of statements without an answer
  bool combining = false;       ///< it is executing a batch
  bool answers_itself = false;  ///< its own thread brought the last answer, so answer() is not called

  /// When it counts as missing unless it comes: `grace` after it was called. instant::max() if it was not called.
  instant missing_from() const noexcept { return missing_from_; }
  bool missing(instant now) const noexcept { return now >= missing_from_; }
  /// Its thread has the executor's mutex and checks for work.
  void came() noexcept { missing_from_ = instant::max(); }
  /// Tells the thread that there is work for it. Until it comes, further calls do nothing. The executor's mutex is
  /// locked.
  void call() noexcept {
    if (missing_from_ != instant::max()) return;
    missing_from_ = time_.now() + grace;
    const base::lock_guard lock(mutex_);
    called_ = true;
    time_.notify(wake_);
  }
  /// Wakes the thread when `open` is 0. The object may be gone when this returns.
  void answer() noexcept {
    const base::lock_guard lock(mutex_);
    answered_ = true;
    time_.notify(wake_);
  }
  /// Sleeps until it is called or answered, or until `until`. May return early. The executor's mutex is unlocked.
  woken sleep(instant until) {
    base::unique_lock lock(mutex_);
    if (!called_ && !answered_) time_.wait_until(wake_, lock.native(), until);
    return {answered_, std::exchange(called_, false)};
  }
  /// Waits for the call of answer() after `open` has become 0. The executor's mutex is unlocked.
  void wait_for_answer() {
    base::unique_lock lock(mutex_);
    while (!answered_) time_.wait_until(wake_, lock.native(), instant::max());
  }

 private:
  time_source& time_;
  instant missing_from_ = instant::max();  // guarded by the executor's mutex
  base::mutex mutex_;
  std::condition_variable wake_;
  bool called_ DLOCK_GUARDED_BY(mutex_) = false;
  bool answered_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
