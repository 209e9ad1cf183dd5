// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
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
  bool notified = false;                                   ///< the key was free in this wait
};

/// A small pool of connections that block at the server on behalf of waiters. Each runs a statement that acquires and
/// at once releases one key's lock, and then notifies. Keys beyond the pool's size get no notification.
///
/// If all processes did that, a release would wake all of them, and the nearest one would win. So each first acquires
/// a named lock, the key's queue, whose order the server keeps, and only the process that holds it waits for the key.
/// It leaves the queue when it has acquired the key, when it stops waiting, or when several notifications have not led
/// to a grant, because it may be far from the server. The server ends a connection that has the queue and sends nothing
/// for a second: its process is stopped.
class blocking_waiters final : public key_waiters<blocked_key> {
 public:
  struct plan {
    std::size_t most = 0;  ///< connections
    /// Waits up to longest_wait for a key's lock, and has released it at its end. Its first value is 1 if it had the
    /// lock; it may also fail because the time ran out.
    std::function<std::string(std::string_view key)> statement{};
    /// The name of the key's queue, which differs for each key of the server.
    std::function<std::string(std::string_view key)> queue{};
    std::string set_up{};                 ///< the first statement on a new connection; may be empty
    std::chrono::milliseconds timeout{};  ///< how much longer a reply may take
  };
  static constexpr std::chrono::seconds longest_wait{5};
  /// The named lock of a queue with that name.
  static std::string queue_lock(std::string_view name);
  /// The statement that waits for it, up to the end of its name.
  static std::string queue_statement_begin(std::string_view name);

  /// `client` must outlive it.
  blocking_waiters(mysql_client& client, plan how)
      : key_waiters(report{}), client_(client), plan_(std::move(how)), slots_(plan_.most) {}
  ~blocking_waiters();

  /// Whether this process had to wait for the key before its last grant. Then others probably wait too, which the
  /// server does not say. False if asked again.
  bool had_waited(std::string_view key) noexcept;

 private:
  /// A connection, which only the thread uses.
  struct slot {
    std::unique_ptr<mysql_connection> link{};
    std::string key{};  ///< the key that it waits for; empty if none
    clock::time_point until{};
    std::string heads{};      ///< the key whose queue it has; empty if none
    unsigned turns = 0;       ///< how often that key was free since
    bool short_rest = false;  ///< the server ends it after a second in which it sends nothing
    bool ended = false;       ///< its wait was killed

    void drop() noexcept;
  };

  void entered(place at) DLOCK_REQUIRES(mutex_) override;
  /// Its connection leaves the queue. If it waits, it does so until another key needs it.
  void left(place at) noexcept DLOCK_REQUIRES(mutex_) override;
  bool serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_) override;
  clock::time_point next(clock::time_point served) const DLOCK_REQUIRES(mutex_) override;
  void wait(clock::time_point until) DLOCK_REQUIRES(mutex_) override;
  void close() noexcept DLOCK_REQUIRES(mutex_) override;

  void leave_queues() DLOCK_REQUIRES(mutex_);
  void leave_queue(slot& of, std::string key) DLOCK_REQUIRES(mutex_);
  void assign(clock::time_point now, const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  std::vector<std::pair<clock::time_point, std::string>> unserved(clock::time_point now) const DLOCK_REQUIRES(mutex_);
  slot* vacant(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  void end_wait(slot& of, const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  bool connected(slot& with, const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  void send(slot& with, const std::string& key) DLOCK_REQUIRES(mutex_);
  bool send_next(slot& with, const std::string& key, fault& why) const;
  void answered(slot& with) DLOCK_REQUIRES(mutex_);
  void broke(slot& with) DLOCK_REQUIRES(mutex_);
  bool served(std::string_view key) const;
  void tell(const std::string& key, bool works) noexcept DLOCK_REQUIRES(mutex_);

  mysql_client& client_;
  const plan plan_;
  std::set<std::string, std::less<>> waited_ DLOCK_GUARDED_BY(mutex_){};
  std::vector<slot> slots_;       // used only by the thread
  slot control_{};                // likewise; ends the waits of the others
  clock::time_point retry_at_{};  // likewise
};

/// Finds connections that are executing a statement with both texts in it, and so wait for a key, or wait for its
/// queue. The server shows the connections of other users only to a user with the right PROCESS.
reply find_waiters(mysql_connection& connection, std::string_view statement, std::string_view key,
                   std::string_view queue, std::size_t limit, waiter_overview& found);

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
