// SPDX-License-Identifier: BSL-1.0
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
    std::vector<std::string> keys;
  };

  void on(const event& event) override {
    const std::lock_guard guard(mutex_);
    records_.push_back({event.what, std::string(event.key), event.fence, event.reason, std::string(event.text),
                        std::vector<std::string>(event.keys.begin(), event.keys.end())});
    noted_.notify_all();
  }

  std::size_t count(event::kind kind) const {
    const std::lock_guard guard(mutex_);
    return count_locked(kind);
  }

  /// Whether `kind` was told at least `times` times; waits for it. The limit is only there to end a failing test.
  bool wait_for(event::kind kind, std::size_t times = 1) const {
    std::unique_lock lock(mutex_);
    return noted_.wait_for(lock, std::chrono::seconds{20}, [&] { return count_locked(kind) >= times; });
  }

  /// event::keys of the first of that kind.
  std::vector<std::string> keys_of(event::kind kind) const {
    for (const record& each : records()) {
      if (each.what == kind) return each.keys;
    }
    return {};
  }
  std::vector<record> records() const {
    const std::lock_guard guard(mutex_);
    return records_;
  }

 private:
  std::size_t count_locked(event::kind kind) const {
    std::size_t count = 0;
    for (const record& each : records_) count += each.what == kind ? 1 : 0;
    return count;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable noted_;
  std::vector<record> records_;
};

}  // namespace dlock::test
