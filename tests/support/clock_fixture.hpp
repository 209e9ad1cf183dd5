// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "dlock/store_interface/clock.hpp"
#include "dlock/stores/memory.hpp"
#include "support/calls.hpp"

namespace dlock::test {

/// Time that stands still until the test moves it.
struct clock_fixture {
  stores::virtual_clock clock{};

  /// Lets time pass, and waits until all are at rest. False: they go on.
  [[nodiscard]] bool at_rest_after(std::chrono::microseconds time, const stores::virtual_clock::known& but = {},
                                   std::chrono::milliseconds limit = std::chrono::seconds{20}) {
    clock.advance(time);
    return clock.at_rest(but, limit);
  }
  /// Whether `ready` comes to hold as time passes, in steps.
  template <class F>
  [[nodiscard]] bool as_time_passes(F ready, std::chrono::microseconds step = std::chrono::milliseconds{100}) {
    return eventually([&] {
      clock.advance(step);
      return ready();
    });
  }
};

/// A virtual clock that a test moves as if it ran by itself, so that a process yields a key to other processes as it
/// does on the system's clock. Clocks that differ in one function derive from it.
class running_clock : public environment {
 public:
  explicit running_clock(environment& of) noexcept : of_(of) {}

  instant now() const noexcept override { return of_.now(); }
  bool runs_by_itself() const noexcept override { return true; }
  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    of_.wait_until(wake, lock, until);
  }
  void notify(std::condition_variable& wake) noexcept override { of_.notify(wake); }
  void on_thread_event(worker change) noexcept override { of_.on_thread_event(change); }

 private:
  environment& of_;
};

/// A clock that counts how often somebody begins to wait on it.
class counted_waits final : public running_clock {
 public:
  using running_clock::running_clock;
  int count() const { return count_; }

  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    ++count_;
    running_clock::wait_until(wake, lock, until);
  }

 private:
  std::atomic<int> count_{0};
};

}  // namespace dlock::test
