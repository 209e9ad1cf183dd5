// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "dlock/store_interface/clock.hpp"

namespace dlock::test {

/// A clock that counts how often somebody begins to wait on it.
class counted_waits final : public time_source {
 public:
  explicit counted_waits(time_source& time) : time_(time) {}
  int count() const { return count_; }

  instant now() const noexcept override { return time_.now(); }
  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    ++count_;
    time_.wait_until(wake, lock, until);
  }
  void notify(std::condition_variable& wake) noexcept override { time_.notify(wake); }
  void on_thread_event(worker change) noexcept override { time_.on_thread_event(change); }

 private:
  time_source& time_;
  std::atomic<int> count_{0};
};

}  // namespace dlock::test
