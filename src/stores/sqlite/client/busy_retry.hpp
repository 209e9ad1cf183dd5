// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <optional>

#include "stores/sqlite/client/write_queue.hpp"

namespace dlock::stores::sqlite {

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
