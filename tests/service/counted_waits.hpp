// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

#include "support/running_clock.hpp"

namespace dlock::test {

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
