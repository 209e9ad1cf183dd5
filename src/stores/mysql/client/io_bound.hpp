// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <stop_token>

#include "base/background_thread.hpp"
#include "stores/mysql/client/api.hpp"

namespace dlock::stores::mysql {

/// While one of these lives, whatever the client library waits for on its thread ends at `end`, and soon once `cancel`
/// is requested: TCP, TLS, login and every statement, to the millisecond. Not the look-up of a host's name, which
/// nothing can end. The library's own timeouts count whole seconds, and each wait by itself.
///
/// MySQL's own library has nothing to hook into: there only its timeouts bound the waiting (docs/operations.md).
class mysql_io_bound {
 public:
  using clock = std::chrono::steady_clock;

  /// Throws std::system_error if there is no file descriptor left.
  mysql_io_bound(clock::time_point end, std::stop_token cancel);
  ~mysql_io_bound();
  mysql_io_bound(const mysql_io_bound&) = delete;
  mysql_io_bound& operator=(const mysql_io_bound&) = delete;

  /// Has this connection's waits bounded wherever there is a mysql_io_bound. Before it connects.
  static void apply(MYSQL* handle) noexcept;
  /// Whether the present one of this thread has ended, or its `cancel` was requested. False: there is none.
  static bool over() noexcept;
  /// False: the client library has nothing to hook into.
  static bool works() noexcept;

 private:
  static int wait(int socket, bool to_read, int timeout_ms) noexcept;

  struct signal {
    const base::wake_event& wakes;
    void operator()() const noexcept { wakes.raise(); }
  };

  const clock::time_point end_;
  const mysql_io_bound* const outer_;
  const base::wake_event wake_{"dlock: a file descriptor for connecting"};
  const std::stop_callback<signal> on_cancel_;  // ends before wake_ does
};

}  // namespace dlock::stores::mysql
