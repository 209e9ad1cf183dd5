// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "dlock/observer.hpp"

namespace dlock::test {

/// Keeps what it was told. Thread safety: any thread.
class recording_observer final : public observer {
 public:
  struct record {
    event::kind what;
    std::string key;
    std::uint64_t fence;
    loss_reason reason;
    std::string text;
  };

  void on(const event& what) override {
    const std::lock_guard guard(mutex_);
    records_.push_back({what.what, std::string(what.key), what.fence, what.reason, std::string(what.text)});
    told_.notify_all();
  }

  std::size_t count(event::kind what) const {
    const std::lock_guard guard(mutex_);
    return count_locked(what);
  }

  /// Whether `what` was told at least `times` times; waits for it. The limit is only there to end a failing test.
  bool wait_for(event::kind what, std::size_t times = 1) const {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, std::chrono::seconds{20}, [&] { return count_locked(what) >= times; });
  }

  std::vector<record> records() const {
    const std::lock_guard guard(mutex_);
    return records_;
  }

 private:
  std::size_t count_locked(event::kind what) const {
    std::size_t count = 0;
    for (const record& each : records_) count += each.what == what ? 1 : 0;
    return count;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable told_;
  std::vector<record> records_;
};

}  // namespace dlock::test
