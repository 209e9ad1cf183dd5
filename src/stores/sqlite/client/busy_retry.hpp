// SPDX-License-Identifier: BSL-1.0
#pragma once

/// How statements wait for a file that others have: those of this process in a queue, the first of them by trying
/// again.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <optional>

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
    std::list<waiter*> place_{this};  // its one node is in the queue while it waits: to wait needs no memory
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
  std::atomic<int> urgent_{0};
  base::mutex mutex_;
  bool taken_ DLOCK_GUARDED_BY(mutex_) = false;
  std::list<waiter*> queue_ DLOCK_GUARDED_BY(mutex_);
};

class sqlite_connection;

/// How a statement waits while others have the file.
enum class lane {
  read,     ///< readers wait for no writer (but for a recovery, and that is short)
  write,    ///< queues behind the writers of this process
  renewal,  ///< a session's life depends on it: does not queue, polls more often
};

/// The busy loop of one statement, or of several in one transaction. SQLite's own sleeps longer and longer
/// between its tries, so that a renewal among busy writers starves for seconds; this one polls
/// several times a millisecond, a renewal more often: a share of the file for each.
class sqlite_busy_retry {
 public:
  /// The limit counts from here.
  sqlite_busy_retry(sqlite_connection& connection, lane lane, std::chrono::microseconds limit) noexcept;
  /// The limit is that of a statement of an acquire or a release.
  sqlite_busy_retry(sqlite_connection& connection, lane lane) noexcept;
  ~sqlite_busy_retry();
  sqlite_busy_retry(const sqlite_busy_retry&) = delete;
  sqlite_busy_retry& operator=(const sqlite_busy_retry&) = delete;

  /// Before the first try; again for a further statement costs nothing. SQLITE_OK, SQLITE_BUSY (the limit) or
  /// SQLITE_INTERRUPT.
  int begin() noexcept;
  /// After a try: whether to try again. Sleeps before it says yes. Changes `code` to SQLITE_INTERRUPT if that
  /// is why not.
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
