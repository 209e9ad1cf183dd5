// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>

#include "base/mutex.hpp"
#include "dlock/store_interface/clock.hpp"
#include "engine/operations/operation.hpp"

namespace dlock::engine {

/// A waker that a thread can wait for. It stays set until it is waited for.
class wake_signal final : public waker {
 public:
  explicit wake_signal(time_source& time) noexcept : time_(time) {}

  void wake() noexcept override {
    const base::lock_guard lock(mutex_);
    set_ = true;
    time_.notify(changed_);
  }
  /// Until it is set, or until then. May return early.
  void wait(instant until) {
    base::unique_lock lock(mutex_);
    if (!set_) time_.wait_until(changed_, lock.native(), until);
    set_ = false;
  }

 private:
  time_source& time_;
  base::mutex mutex_;
  std::condition_variable changed_;
  bool set_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
