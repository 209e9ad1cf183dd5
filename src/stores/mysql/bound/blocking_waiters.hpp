// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_overview.hpp"
#include "stores/key_waiters.hpp"
#include "stores/mysql/bound/lock_holding_connection.hpp"
#include "stores/mysql/client/client.hpp"

namespace dlock::stores::mysql {

/// What the pool knows about a key that this process waits for.
struct blocked_key {
  std::chrono::steady_clock::time_point since{};           ///< when it last had a connection, or got its first listener
  std::chrono::steady_clock::time_point cooldown_until{};  ///< the notified waiter takes the key meanwhile
};

/// A small pool of connections that block at the server on behalf of waiters. Each runs a statement that acquires and
/// at once releases one key's lock, and then notifies. Keys beyond the pool's size get no notification.
class blocking_waiters final : public key_waiters<blocked_key> {
 public:
  struct plan {
    std::size_t most = 0;  ///< connections
    /// Waits up to longest_wait for a key's lock, and has released it at its end. Its first value is 1 if it had the
    /// lock; it may also fail because the time ran out.
    std::function<std::string(std::string_view key)> statement{};
    std::string set_up{};                 ///< the first statement on a new connection; may be empty
    std::chrono::milliseconds timeout{};  ///< how much longer a reply may take
  };
  static constexpr std::chrono::seconds longest_wait{5};

  /// `client` must outlive it.
  blocking_waiters(mysql_client& client, plan how)
      : key_waiters(report{}), client_(client), plan_(std::move(how)), slots_(plan_.most) {}
  ~blocking_waiters();

 private:
  /// A connection, which only the thread uses.
  struct slot {
    std::unique_ptr<mysql_connection> link{};
    std::string key{};  ///< the key that it waits for; empty if none
    clock::time_point until{};
    bool ended = false;  ///< its wait was killed

    void drop() noexcept;
  };

  void entered(place at) DLOCK_REQUIRES(mutex_) override;
  /// Its connection keeps waiting until another key needs it; it holds nothing at its end.
  void left(place at) noexcept DLOCK_REQUIRES(mutex_) override { keys_.erase(at); }
  bool serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_) override;
  clock::time_point next(clock::time_point served) const DLOCK_REQUIRES(mutex_) override;
  void wait(clock::time_point until) DLOCK_REQUIRES(mutex_) override;
  void close() noexcept DLOCK_REQUIRES(mutex_) override;

  void assign(clock::time_point now, const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  std::vector<std::pair<clock::time_point, std::string>> unserved(clock::time_point now) const DLOCK_REQUIRES(mutex_);
  slot* vacant(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  void end_wait(slot& of, const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  bool connected(slot& with, const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  void send(slot& with, const std::string& key) DLOCK_REQUIRES(mutex_);
  void answered(slot& with) DLOCK_REQUIRES(mutex_);
  void broke(slot& with) DLOCK_REQUIRES(mutex_);
  bool served(std::string_view key) const;
  void tell(const std::string& key, bool works) noexcept DLOCK_REQUIRES(mutex_);

  mysql_client& client_;
  const plan plan_;
  std::vector<slot> slots_;       // used only by the thread
  slot control_{};                // likewise; ends the waits of the others
  clock::time_point retry_at_{};  // likewise
};

/// Finds connections that are executing a statement with both texts in it, and so wait for a key. The server shows the
/// connections of other users only to a user with the right PROCESS.
reply find_waiters(mysql_connection& connection, std::string_view statement, std::string_view key, std::size_t limit,
                   waiter_overview& found);

/// The remaining time of a lock without an expiry, which ends with its connection.
inline constexpr microseconds no_end{3'153'600'000'000'000};

/// The connection that the engine uses for a store whose locks are bound to other connections. It polls locks, and does
/// the caller's waiting for one of the other connections.
class waiting_connection final : public mysql_connection {
 public:
  waiting_connection(mysql_opened from, mysql_hosts& hosts)
      : mysql_connection(std::move(from), hosts), identity_{mysql_connection::identity()} {
    identity_.id = 0;  // it only reads, so it leaves nothing to terminate
  }

  void interrupt() noexcept override {
    caller_.raise();
    mysql_connection::interrupt();
  }
  /// Checks nothing, because most callers send nothing on it, and a poll notices a broken connection by itself.
  bool alive() noexcept override { return usable(); }
  const connection_identity& identity() const noexcept override { return identity_; }
  const connection_identity& server() const noexcept { return mysql_connection::identity(); }
  const cancel_signal& caller() const noexcept { return caller_; }

 private:
  connection_identity identity_;
  cancel_signal caller_{};
};

}  // namespace dlock::stores::mysql
