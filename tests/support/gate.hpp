// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace dlock::test {

/// Where a statement stops until the test lets it go on, or its connection is interrupted.
class gate {
 public:
  /// Whether so many statements have come here; waits for them. The limit only ends a failing test.
  bool reached(int statements = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return here_ >= statements; });
  }
  bool is_reached() {
    const std::lock_guard lock(mutex_);
    return here_ > 0;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Where nobody interrupts it.
  void pass() {
    const std::atomic<bool> never{false};
    pass(never);
  }
  /// False: interrupted.
  bool pass(const std::atomic<bool>& interrupted) {
    std::unique_lock lock(mutex_);
    ++here_;
    changed_.notify_all();
    while (!open_ && !interrupted) changed_.wait_for(lock, std::chrono::milliseconds{1});
    return open_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
  bool open_ = false;
};

}  // namespace dlock::test
