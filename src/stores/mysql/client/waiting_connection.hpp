// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <utility>

#include "stores/mysql/client/bound_link.hpp"

namespace dlock::stores::mysql {

/// What a store whose locks are bound to connections of their own gives the engine: it looks at locks, and stands for the
/// caller who waits for one of the others. `losses` counts the connections that were lost with locks; one that was made before
/// the last of them leads to another server, as far as the engine is concerned, and so ends every lease.
class waiting_connection final : public mysql_connection {
 public:
  waiting_connection(mysql_opened from, const std::atomic<std::uint64_t>& losses, mysql_hosts& hosts)
      : mysql_connection(std::move(from), hosts),
        losses_(losses),
        made_at_(losses.load()),
        identity_{mysql_connection::identity()} {
    // What it sent leaves nothing behind: it only reads.
    identity_.id = 0;
    if (made_at_ != 0) identity_.server += '#' + std::to_string(made_at_);
  }

  void interrupt() noexcept override {
    caller_.raise();
    mysql_connection::interrupt();
  }
  bool usable() const noexcept override { return mysql_connection::usable() && losses_.load() == made_at_; }
  /// Most callers send nothing on it. A look finds out by itself.
  bool alive() noexcept override { return usable(); }
  const connection_identity& identity() const noexcept override { return identity_; }
  const connection_identity& server() const noexcept { return mysql_connection::identity(); }
  const caller_signal& caller() const noexcept { return caller_; }

 private:
  const std::atomic<std::uint64_t>& losses_;
  const std::uint64_t made_at_;
  connection_identity identity_;
  caller_signal caller_{};
};

}  // namespace dlock::stores::mysql
