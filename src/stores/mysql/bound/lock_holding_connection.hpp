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

/// Cancels one caller's wait; it is never reset. Thread safety: raise() from any thread.
class cancel_signal {
 public:
  /// Throws std::system_error if there is no file descriptor left.
  cancel_signal() = default;

  void raise() noexcept {
    stop_.request_stop();
    event_.raise();
  }
  std::stop_token token() const noexcept { return stop_.get_token(); }
  /// Readable once it was raised.
  int descriptor() const noexcept { return event_.descriptor(); }

 private:
  const base::wake_event event_{"dlock: a file descriptor for a connection"};
  std::stop_source stop_{};
};

/// The reply to a statement on a lock_holding_connection.
struct bound_answer {
  outcome result = outcome::unknown;
  mysql_rows rows{};
  fault why{};
};

/// A statement of a lock_holding_connection with a key as its parameter and one number as its reply.
class key_statement {
 public:
  /// `doing`, which messages show, must outlive it. `bytes` says whether the key is sent as bytes or as a text.
  key_statement(std::string sql, const char* doing, bool bytes)
      : sql_(std::move(sql)), statement_(sql_, doing, {bytes ? mysql_field::bytes(key_) : mysql_field::text(key_)}) {}

 private:
  friend class lock_holding_connection;
  const std::string sql_;
  mysql_bytes<256> key_{};
  mysql_statement statement_;
};

/// A connection to which locks are bound at the server, so that they end with it. A caller that has no more time
/// therefore does not end it; the next user of the connection reads the reply. Thread safety: all functions may be
/// called from any thread; only the thread with the exclusive use sends.
class lock_holding_connection {
 public:
  /// Called exactly once with the reply, by the thread that reads it under the exclusive use, perhaps when the caller
  /// is gone. It must not throw.
  using handler = std::function<void(bound_answer&)>;

  /// If there is no reply within `timeout`, the connection is ended.
  lock_holding_connection(std::unique_ptr<mysql_connection> link, std::chrono::milliseconds timeout);
  /// A child of fork() leaves the connection to its parent.
  ~lock_holding_connection();
  lock_holding_connection(const lock_holding_connection&) = delete;
  lock_holding_connection& operator=(const lock_holding_connection&) = delete;

  /// The right to send, until the object is destroyed.
  class exclusive_use {
   public:
    exclusive_use(exclusive_use&& from) noexcept : link_(std::exchange(from.link_, nullptr)), by_(from.by_) {}
    exclusive_use& operator=(exclusive_use&&) = delete;
    ~exclusive_use();
    /// Takes one round trip. If it returns unknown, the statement may still be executed, and `done` is called later.
    outcome run(const std::string& sql, const char* doing, handler done, fault& why);
    /// Runs a statement that was added. It is prepared if the client library can wait for its reply as this class does.
    outcome run(key_statement& statement, std::string_view key, handler done, fault& why);
    /// Runs a statement without a handler.
    outcome query(const std::string& sql, const char* doing, mysql_rows* rows, fault& why);
    /// Makes the server end the connection, and its locks, after a silence of `ttl`. At most one round trip. Returns
    /// false and sets `why` if that failed.
    bool set_silence(microseconds ttl, fault& why);
    /// Sets the silence if it is longer than before, because the earlier end was promised. Otherwise asks by one round
    /// trip whether the server still allows locks; if not, ends the connection.
    outcome renew(microseconds ttl, const char* doing, fault& why);

   private:
    friend class lock_holding_connection;
    exclusive_use(lock_holding_connection& link, const cancel_signal& by) noexcept : link_(&link), by_(&by) {}
    template <class Send>
    outcome run(key_statement* statement, const char* doing, handler done, fault& why, const Send& send);
    lock_holding_connection* link_;
    const cancel_signal* by_;
  };

  /// Must come before everything else. One round trip. Returns null and sets `why` if the server rejects the statement.
  key_statement* add(std::string sql, const char* doing, bool bytes, fault& why);

  /// Waits for the exclusive use, and reads a reply that an earlier user left. Returns nothing and sets `why` if `by`
  /// was raised or (why.connection) the connection is gone.
  std::optional<exclusive_use> wait_exclusive_use(const cancel_signal& by, fault& why);

  bool usable() const noexcept { return link_->usable(); }
  int socket() const noexcept { return mysql_socket(link_->handle()); }
  const connection_identity& identity() const noexcept { return link_->identity(); }
  /// Ends the connection. A running statement returns soon.
  void end() noexcept { link_->interrupt(); }

 private:
  struct unread_reply {
    const char* doing;
    key_statement* statement;  ///< null if a text was sent
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
  std::vector<std::unique_ptr<key_statement>> statements_{};  // destroyed before their connection
  const pid_t process_;
  const std::chrono::milliseconds timeout_;
  base::mutex mutex_;
  std::condition_variable_any freed_;
  bool taken_ DLOCK_GUARDED_BY(mutex_) = false;
  std::optional<unread_reply> open_{};            // guarded by the exclusive use
  std::chrono::steady_clock::time_point used_{};  // likewise; the time of its last reply
  std::int64_t silence_ = 0;                      // likewise; in seconds
};

/// MySQL's limit; MariaDB's is greater.
inline constexpr std::size_t longest_lock_name = 64;
/// A name for GET_LOCK that stands for the text: '#' and the first 63 hexadecimal digits of its SHA-256.
std::string hashed_lock_name(std::string_view text);

/// Facts that decide whether a lock bound to a connection is the only one of its name.
struct server_facts {
  bool cluster = false;            ///< Galera
  bool several_primaries = false;  ///< group replication in multi-primary mode
  bool proxy = false;              ///< CONNECTION_ID() differs from the number in the handshake
  std::string version{};
  std::string first{};   ///< CONNECTION_ID() in one statement
  std::string second{};  ///< CONNECTION_ID() in the next statement
};

/// Asks the connection's server. Throws store_error. Three statements.
server_facts read_facts(mysql_connection& connection, const mysql_server& server, const std::string& store);

/// Why such a lock could be granted twice there, or be lost unnoticed; empty if neither. `locks` is the name of such
/// locks in the message.
std::string refusal(const server_facts& facts, const std::string& locks);

/// Throws std::invalid_argument if the URL names several hosts, because each has separate locks of that kind.
void check_lone_host(const mysql_settings& settings, const std::string& scheme);

/// A server that becomes a replica keeps its connections, while new locks are taken elsewhere. still_primary() reads
/// the reply to this statement.
inline constexpr const char* still_primary_sql = "SELECT @@global.read_only, @@global.innodb_read_only";
bool is_no_primary(const mysql_rows& answer);

/// The wait_timeout in whole seconds with which the server keeps a connection at least as long as the ttl of its locks.
std::int64_t silence_for(microseconds ttl) noexcept;

}  // namespace dlock::stores::mysql
