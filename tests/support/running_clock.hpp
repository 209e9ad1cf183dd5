// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>
#include <mutex>

#include "dlock/store_interface/clock.hpp"

namespace dlock::test {

/// A virtual clock that a test moves as if it ran by itself, so that a process yields a key to other processes as it
/// does on the system's clock. Clocks that differ in one function derive from it.
class running_clock : public time_source {
 public:
  explicit running_clock(time_source& of) noexcept : of_(of) {}

  instant now() const noexcept override { return of_.now(); }
  bool runs_by_itself() const noexcept override { return true; }
  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    of_.wait_until(wake, lock, until);
  }
  void notify(std::condition_variable& wake) noexcept override { of_.notify(wake); }
  void on_thread_event(worker change) noexcept override { of_.on_thread_event(change); }

 private:
  time_source& of_;
};

}  // namespace dlock::test
