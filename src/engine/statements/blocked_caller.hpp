// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <utility>

#include "base/mutex.hpp"
#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// A thread that waits for answers, and executes a batch with one of its own statements itself where it can. Lives on
/// its stack. It sleeps on a separate mutex, so that callers that are woken together don't queue for the executor's.
class blocked_caller {
 public:
  struct woken {
    bool answered = false;  ///< all are; no other thread uses this object any more
    bool called = false;    ///< another thread relies on it to check for work
  };

  /// A thread that was called and has not come for so long may be stopped, by a debugger for example. Other threads
  /// execute its statements then.
  static constexpr std::chrono::microseconds grace = std::chrono::milliseconds{5};

  explicit blocked_caller(time_source& time) noexcept : time_(time) {}

  // Guarded by the executor's mutex:
  std::size_t open = 0;         ///< statements without an answer
  bool combining = false;       ///< it executes a batch now
  bool answers_itself = false;  ///< it was its own thread that brought the last answer: answer() is not called

  /// When it counts as missing, unless it comes: it was called at that time less `grace`. instant::max(): it was not.
  instant missing_from() const noexcept { return missing_from_; }
  bool missing(instant now) const noexcept { return now >= missing_from_; }
  /// Its thread has the executor's mutex and checks for work.
  void came() noexcept { missing_from_ = instant::max(); }
  /// There is something to do for it under the executor's mutex, which is held. Until it comes, further calls do
  /// nothing.
  void call() noexcept {
    if (missing_from_ != instant::max()) return;
    missing_from_ = time_.now() + grace;
    const base::lock_guard lock(mutex_);
    called_ = true;
    time_.notify(wake_);
  }
  /// `open` is 0. No thread uses it afterwards: it may be gone already when this returns.
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
  /// All statements are answered (`open` is 0); the answering thread is about to call answer(). The executor's mutex is
  /// open.
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
