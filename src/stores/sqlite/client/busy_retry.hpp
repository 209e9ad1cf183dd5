// SPDX-License-Identifier: BSL-1.0
#pragma once

/// How statements wait for a file that others have locked: the threads of this process queue, and the first one
/// retries.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <optional>

#include "base/mutex.hpp"

namespace dlock::stores::sqlite {

/// The threads of one process that want to write to the same file, first come, first served. SQLite has no queue: a
/// process that finds the file busy polls. With this queue only one thread of a process polls. Renewals don't queue;
/// they announce themselves, and the polling thread lets them go first.
///
/// Thread safety: all functions may be called from any thread, each with its own waiter.
class sqlite_write_queue {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// A thread's place in the queue; may be used again after leave().
  class waiter {
   private:
    friend class sqlite_write_queue;
    std::condition_variable wake_;
    std::list<waiter*> place_{this};  // its one node is in the queue while it waits, so that waiting needs no memory
    bool turn_ = false;
  };

  /// Returns false if `until` passed or `cancelled` became true first.
  bool enter(waiter& me, time_point until, const std::atomic<bool>& cancelled);
  /// Gives the turn to the thread that has waited longest.
  void leave();
  /// Makes enter(me, ...) check its `cancelled` now.
  void nudge(waiter& me);

  /// The number of threads that wait for their turn now.
  std::size_t waiting();

  /// While an object of this class exists, queued threads let others go first.
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
  std::atomic<int> urgent_{0};
  base::mutex mutex_;
  bool taken_ DLOCK_GUARDED_BY(mutex_) = false;
  std::list<waiter*> queue_ DLOCK_GUARDED_BY(mutex_);
};

class sqlite_connection;

/// How a statement waits while others have locked the file.
enum class lane {
  read,     ///< readers wait for no writer, only for a short recovery
  write,    ///< queues behind the writers of this process
  renewal,  ///< a session depends on it, so it does not queue, and polls more often
};

/// The busy loop of one statement, or of several in one transaction. SQLite's own sleeps longer and longer between its
/// attempts, so that a renewal among busy writers starves for seconds. This one polls several times a millisecond, a
/// renewal more often, so that each gets a share of the file.
class sqlite_busy_retry {
 public:
  /// The limit counts from this call.
  sqlite_busy_retry(sqlite_connection& connection, lane lane, std::chrono::microseconds limit) noexcept;
  /// With the limit of a statement of an acquire or a release.
  sqlite_busy_retry(sqlite_connection& connection, lane lane) noexcept;
  ~sqlite_busy_retry();
  sqlite_busy_retry(const sqlite_busy_retry&) = delete;
  sqlite_busy_retry& operator=(const sqlite_busy_retry&) = delete;

  /// Must be called before the first attempt; another call, for a further statement, costs nothing. Returns SQLITE_OK,
  /// SQLITE_BUSY (the limit) or SQLITE_INTERRUPT.
  int begin() noexcept;
  /// Returns after an attempt whether to retry, after a sleep. Sets `code` to SQLITE_INTERRUPT if that is the reason
  /// not to.
  bool again(int& code) noexcept;

 private:
  using clock = std::chrono::steady_clock;
  void pause() noexcept;

  sqlite_connection& connection_;
  lane lane_;
  clock::time_point end_;
  bool in_queue_ = false;
  unsigned tries_ = 0;
  std::optional<sqlite_write_queue::urgent> urgent_{};
};

}  // namespace dlock::stores::sqlite
