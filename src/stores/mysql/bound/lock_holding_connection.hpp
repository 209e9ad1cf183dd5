// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "stores/mysql/client/connection.hpp"

namespace dlock::stores::mysql {

/// Ends what one caller waits for; it is never reset. Thread safety: raise() from any thread.
class cancel_signal {
 public:
  /// Throws std::system_error if there is no file descriptor left.
  cancel_signal() = default;

  void raise() noexcept {
    stop_.request_stop();
    event_.raise();
  }
  std::stop_token token() const noexcept { return stop_.get_token(); }
  /// Can be read from once it was raised.
  int descriptor() const noexcept { return event_.descriptor(); }

 private:
  const base::wake_event event_{"dlock: a file descriptor for a connection"};
  std::stop_source stop_{};
};

/// What a statement on a lock_holding_connection was answered.
struct bound_answer {
  outcome result = outcome::unknown;
  mysql_rows rows{};
  fault why{};
};

/// A statement of a lock_holding_connection with one parameter, a key, and an answer of one number.
class key_statement {
 public:
  /// `doing`, which messages show, must outlive it. `bytes`: the key is; otherwise it is a text.
  key_statement(std::string sql, const char* doing, bool bytes)
      : sql_(std::move(sql)), statement_(sql_, doing, {bytes ? mysql_field::bytes(key_) : mysql_field::text(key_)}) {}

 private:
  friend class lock_holding_connection;
  const std::string sql_;
  mysql_bytes<256> key_{};
  mysql_statement statement_;
};

/// A connection that locks are bound to at the server: they end when it ends. So a caller that has no more time does
/// not end it: the next user of the connection reads the answer. Thread safety: all functions may be
/// called from any thread; only the thread with the exclusive use sends.
class lock_holding_connection {
 public:
  /// Called with the answer, exactly once, by the thread that reads it, which has the exclusive use: maybe when the
  /// caller is gone. It must not throw.
  using handler = std::function<void(bound_answer&)>;

  /// `timeout`: without an answer for so long, the connection is ended.
  lock_holding_connection(std::unique_ptr<mysql_connection> link, std::chrono::milliseconds timeout);
  /// A child of fork() leaves the connection to its parent.
  ~lock_holding_connection();
  lock_holding_connection(const lock_holding_connection&) = delete;
  lock_holding_connection& operator=(const lock_holding_connection&) = delete;

  /// The right to send. It ends with the object.
  class exclusive_use {
   public:
    exclusive_use(exclusive_use&& from) noexcept : link_(std::exchange(from.link_, nullptr)), by_(from.by_) {}
    exclusive_use& operator=(exclusive_use&&) = delete;
    ~exclusive_use();
    /// One round trip. unknown: it may be done still, and then `done` is called later.
    outcome run(const std::string& sql, const char* doing, handler done, fault& why);
    /// The same for one that was added, prepared where the client library can wait for its answer as this one does.
    outcome run(key_statement& statement, std::string_view key, handler done, fault& why);
    /// The same, for what needs no handler.
    outcome query(const std::string& sql, const char* doing, mysql_rows* rows, fault& why);
    /// Has the server end the connection, and its locks, after a silence of `ttl`. At most one round trip. False, and
    /// the reason, if that was not done.
    bool set_silence(microseconds ttl, fault& why);
    /// The same where that is longer, because the former end is promised. Then it asks by one round trip whether the
    /// server still takes locks; if not, the connection ends.
    outcome renew(microseconds ttl, const char* doing, fault& why);

   private:
    friend class lock_holding_connection;
    exclusive_use(lock_holding_connection& link, const cancel_signal& by) noexcept : link_(&link), by_(&by) {}
    /// Sends by `send`, and waits for the answer.
    template <class Send>
    outcome run(key_statement* statement, const char* doing, handler done, fault& why, const Send& send);
    lock_holding_connection* link_;
    const cancel_signal* by_;
  };

  /// Before anything else is done with it. One round trip. Null, and the reason, if the server does not take the
  /// statement.
  key_statement* add(std::string sql, const char* doing, bool bytes, fault& why);

  /// Waits for the turn, and reads an answer that was left. Nothing, and the reason: `by` was raised, or
  /// (why.connection) the connection is gone.
  std::optional<exclusive_use> wait_exclusive_use(const cancel_signal& by, fault& why);

  bool usable() const noexcept { return link_->usable(); }
  int socket() const noexcept { return mysql_socket(link_->handle()); }
  const connection_identity& identity() const noexcept { return link_->identity(); }
  /// Ends the connection. What runs returns soon.
  void end() noexcept { link_->interrupt(); }

 private:
  struct unread_reply {
    const char* doing;
    key_statement* statement;  ///< null: another text was sent
    handler done;
    std::chrono::steady_clock::time_point until;
  };
  enum class event { answer, raised, nothing };

  event wait_next(const cancel_signal& by, std::chrono::steady_clock::time_point now) const noexcept;
  outcome finish(const cancel_signal& by, std::chrono::steady_clock::time_point now, fault& why);
  void read(event next, const unread_reply& open, bound_answer& answer);
  bool read_rows(const unread_reply& open, bound_answer& answer) const;
  void lose(const handler& done, const fault& why);

  std::unique_ptr<mysql_connection> link_;
  std::vector<std::unique_ptr<key_statement>> statements_{};  // end before their connection
  const pid_t process_;
  const std::chrono::milliseconds timeout_;
  base::mutex mutex_;
  std::condition_variable_any freed_;
  bool taken_ DLOCK_GUARDED_BY(mutex_) = false;
  std::optional<unread_reply> open_{};            // guarded by the exclusive use
  std::chrono::steady_clock::time_point used_{};  // likewise: when it answered last
  std::int64_t silence_ = 0;                      // likewise: seconds after which the server ends it
};

/// What decides whether a lock that is bound to a connection is the only one of its name.
struct server_facts {
  bool cluster = false;            ///< Galera
  bool several_primaries = false;  ///< group replication that writes everywhere
  bool proxy = false;              ///< the number of the connection is not the one of the handshake
  std::string version{};
  std::string first{};   ///< CONNECTION_ID() of one statement
  std::string second{};  ///< of the next one
};

/// Asks the server behind it. Throws store_error. Three statements.
server_facts read_facts(mysql_connection& connection, const mysql_server& server, const std::string& store);

/// Why such a lock could be granted twice there, or be lost without a word; empty: neither. `locks`: what they are, in
/// words.
std::string refusal(const server_facts& facts, const std::string& locks);

/// Throws std::invalid_argument if the URL names several hosts: each has such locks of its own.
void check_lone_host(const mysql_settings& settings, const std::string& scheme);

/// A server may turn into a replica, and keep its connections: then locks are to be had elsewhere. The statement, and
/// whether its answer says so.
inline constexpr const char* still_primary_sql = "SELECT @@global.read_only, @@global.innodb_read_only";
bool is_no_primary(const mysql_rows& answer);

/// What a connection's wait_timeout must be, so that the server keeps it for as long as the ttl of its locks: whole
/// seconds.
std::int64_t silence_for(microseconds ttl) noexcept;

}  // namespace dlock::stores::mysql
