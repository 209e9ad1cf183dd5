// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>

#include "base/mutex.hpp"

namespace dlock::stores::sqlite {

/// The threads of one process that want to write to the same file, first come, first served. SQLite has no
/// queue: a process that finds the file busy polls. With this, one thread of a process polls and the others sleep.
/// Renewals don't queue; they announce themselves, and the poller lets them pass.
///
/// Thread safety: all functions may be called from any thread, each with its waiter.
class sqlite_write_queue {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// A thread's place; may be used again after leave().
  class waiter {
   private:
    friend class sqlite_write_queue;
    std::condition_variable wake_;
    waiter* behind_ = nullptr;
    bool turn_ = false;
  };

  /// False if `until` passed or `cancelled` became true first.
  bool enter(waiter& me, time_point until, const std::atomic<bool>& cancelled);
  /// The turn goes to the thread that has waited longest.
  void leave();
  /// Makes enter(me, ...) look at its `cancelled` now.
  void nudge(waiter& me);

  /// How many wait for their turn now.
  std::size_t waiting();

  /// While one of these exists, queued threads let others pass first.
  class urgent {
   public:
    explicit urgent(sqlite_write_queue& queue) noexcept : queue_(queue) { ++queue_.urgent_; }
    ~urgent() { --queue_.urgent_; }
    urgent(const urgent&) = delete;
    urgent& operator=(const urgent&) = delete;

   private:
    sqlite_write_queue& queue_;
  };
  bool urgent_waiting() const noexcept { return urgent_.load(std::memory_order_relaxed) > 0; }

 private:
  void unlink(waiter& me) noexcept DLOCK_REQUIRES(mutex_);

  std::atomic<int> urgent_{0};
  base::mutex mutex_;
  bool taken_ DLOCK_GUARDED_BY(mutex_) = false;
  waiter* first_ DLOCK_GUARDED_BY(mutex_) = nullptr;
  waiter* last_ DLOCK_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace dlock::stores::sqlite
