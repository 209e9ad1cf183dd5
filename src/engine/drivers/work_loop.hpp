// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "base/mutex.hpp"
#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// The loop of a thread that does something when it is due, or sooner if another thread calls it.
class work_loop {
 public:
  explicit work_loop(time_source& time) : time_(time) {}

  /// Calls `step` until stop(): it does what is due and says when it wants to be called again.
  template <class Step>
  void run(Step step) {
    base::unique_lock lock(mutex_);
    for (;;) {
      const auto now = time_.now();
      if (now >= due_) {
        due_ = instant::max();
        lock.unlock();
        const instant next = step(now);
        lock.lock();
        due_ = std::min(due_, next);
      } else if (stop_) {
        return;
      } else {
        time_.wait_until(changed_, lock.native(), due_);
      }
    }
  }
  /// The next call is wanted by then.
  void due_by(instant when) noexcept {
    const base::lock_guard lock(mutex_);
    if (when >= due_) return;
    due_ = when;
    time_.notify(changed_);
  }
  void now() noexcept { due_by(instant{}); }
  /// Ends run() once nothing is due.
  void stop() noexcept {
    const base::lock_guard lock(mutex_);
    stop_ = true;
    time_.notify(changed_);
  }

 private:
  time_source& time_;
  base::mutex mutex_;
  std::condition_variable changed_;
  instant due_ DLOCK_GUARDED_BY(mutex_) = instant::max();
  bool stop_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
