// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/mysql/mysql.hxx>

#include <chrono>
#include <stop_token>

namespace dlock::stores::mysql {

/// While one of these lives, whatever the client library waits for on its thread ends at `end`, and soon once `cancel`
/// is requested: TCP, TLS, login and every statement, to the millisecond. Not the look-up of a host's name, which nothing
/// can end. The library's own timeouts count whole seconds, and each wait by itself.
///
/// MySQL's own library has nothing to hook into: there only its timeouts bound the waiting.
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

 private:
  static int wait(int socket, bool to_read, int timeout_ms) noexcept;

  /// An eventfd, which a cancellation makes readable.
  class wake_event {
   public:
    wake_event();
    ~wake_event();
    wake_event(const wake_event&) = delete;
    wake_event& operator=(const wake_event&) = delete;
    int descriptor() const noexcept { return descriptor_; }

   private:
    const int descriptor_;
  };
  struct signal {
    int descriptor;
    void operator()() const noexcept;
  };

  const clock::time_point end_;
  const mysql_io_bound* const outer_;
  const wake_event wake_{};
  const std::stop_callback<signal> on_cancel_;  // ends before wake_ does
};

}  // namespace dlock::stores::mysql
