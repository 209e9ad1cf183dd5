// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <stop_token>

#include "base/background_thread.hpp"
#include "stores/mysql/client/api.hpp"

namespace dlock::stores::mysql {

/// While an object of this class lives, every wait of the client library on its thread ends at `end`, or soon after
/// `cancel` is requested: TCP, TLS, login and statements, to the millisecond. Only the look-up of a host name can't be
/// interrupted. The library's own timeouts count whole seconds, and each wait separately.
///
/// MySQL's own library has no such hook, so there only its timeouts bound the waiting (docs/operations.md).
class mysql_io_bound {
 public:
  using clock = std::chrono::steady_clock;

  /// Throws std::system_error if there is no file descriptor left.
  mysql_io_bound(clock::time_point end, std::stop_token cancel);
  ~mysql_io_bound();
  mysql_io_bound(const mysql_io_bound&) = delete;
  mysql_io_bound& operator=(const mysql_io_bound&) = delete;

  /// Bounds the waits of this connection while a mysql_io_bound exists. Must be called before it connects.
  static void apply(MYSQL* handle) noexcept;
  /// Whether this thread's bound has ended, or its `cancel` was requested. False if there is none.
  static bool over() noexcept;
  /// Returns false if the client library has no hook.
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
