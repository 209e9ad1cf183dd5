// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

#include "stores/mysql/bound/lock_holding_connection.hpp"

namespace dlock::stores::mysql {

/// What a lock without an expiry has left: it ends with its connection.
inline constexpr microseconds no_end{3'153'600'000'000'000};

/// What a store whose locks are bound to other connections gives the engine: it polls locks, and stands for the caller
/// a waiter for one of the others.
class waiting_connection final : public mysql_connection {
 public:
  waiting_connection(mysql_opened from, mysql_hosts& hosts)
      : mysql_connection(std::move(from), hosts), identity_{mysql_connection::identity()} {
    identity_.id = 0;  // what it sent leaves nothing behind: it only reads
  }

  void interrupt() noexcept override {
    caller_.raise();
    mysql_connection::interrupt();
  }
  /// Most callers send nothing on it. A poll finds out by itself.
  bool alive() noexcept override { return usable(); }
  const connection_identity& identity() const noexcept override { return identity_; }
  const connection_identity& server() const noexcept { return mysql_connection::identity(); }
  const cancel_signal& caller() const noexcept { return caller_; }

 private:
  connection_identity identity_;
  cancel_signal caller_{};
};

}  // namespace dlock::stores::mysql
