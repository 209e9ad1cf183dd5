// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "stores/hangup_watch.hpp"
#include "stores/mysql/bound/lock_holding_connection.hpp"

namespace dlock::stores::mysql::named_lock {

/// The name that GET_LOCK gets for a key. It is `prefix` + key if MariaDB and MySQL both keep that name apart from
/// others: at most 64 printable ASCII characters without capital letters, no blank at the end, no '#' at the beginning.
/// Otherwise it is '#' and the first 63 hexadecimal digits of its SHA-256, which other programs can make by SHA2(...,
/// 256).
std::string lock_name(std::string_view prefix, std::string_view key);

/// The connection of one session, which holds all its named locks. The server ends it, and with it the locks, when the
/// client has been silent for the session's ttl. Thread safety: all functions may be called from any thread.
class lock_connection {
 public:
  lock_connection(std::unique_ptr<mysql_connection> link, std::chrono::milliseconds timeout, const session_record& of,
                  const std::string& prefix);
  ~lock_connection();
  lock_connection(const lock_connection&) = delete;
  lock_connection& operator=(const lock_connection&) = delete;

  /// Must come before everything else. Two round trips. Returns false and sets `why` if the server rejects the
  /// statements.
  bool prepare(fault& why);
  /// Calls `closed` when the server has closed the connection. `by` must outlive this.
  void notice_end(hangup_watch& by, std::function<void()> closed) noexcept;
  /// Makes the server end it after a silence of `ttl`. Returns false and sets `why` if that failed.
  bool live_for(microseconds ttl, const cancel_signal& by, fault& why);
  /// One round trip. Returns no if the connection is lost, or its server allows no more locks.
  reply renew(microseconds ttl, const cancel_signal& by);
  /// One round trip for all, or none if it holds them already.
  void take(std::span<const request> requests, std::span<reply> replies, const cancel_signal& by);
  /// Releases by the fence, which is the nonce of the grant, and cancels by the nonce. One round trip for all.
  void free(std::span<const request> requests, std::span<reply> replies, const cancel_signal& by);

  /// The process and label of its session.
  const holder_info& holder() const noexcept { return holder_; }
  const connection_identity& identity() const noexcept { return link_.identity(); }
  bool usable() const noexcept { return link_.usable(); }
  /// Ends the connection, and with it all its locks.
  void end() noexcept { link_.end(); }
  /// The nonce of the grant that it holds under that name, if any.
  std::optional<std::uint64_t> holds(const std::string& name) const;
  std::vector<holder_info> all_held() const;

 private:
  using exclusive_use = lock_holding_connection::exclusive_use;
  struct held {
    std::string key{};
    std::uint64_t nonce = 0;
  };
  /// A function of the server with a name as its argument.
  struct lock_function {
    const char* doing;
    std::string_view begin;
    std::string_view end;
    key_statement* one = nullptr;  ///< for one name
  };
  struct sent_name {
    std::size_t request = 0;  ///< the index of its request
    std::string name{};
    held grant{};                       ///< for a take
    std::optional<std::string> said{};  ///< the reply to a take
  };

  outcome run(exclusive_use& mine, const lock_function& function, const std::vector<sent_name>& names,
              lock_holding_connection::handler done, fault& why);
  /// Adds the names of requests for which `fits(name, request)` to sent_, and answers the others.
  template <class Fits>
  void choose(std::span<const request> requests, std::span<reply> replies, const Fits& fits);
  /// Frees locks that a failed statement may have taken. Returns false and sets `why` if it is still unknown.
  bool settle(exclusive_use& mine, fault& why);

  const holder_info holder_;
  const std::string prefix_;
  lock_holding_connection link_;
  lock_function take_{"take", "GET_LOCK(", ", 0)"};
  lock_function free_{"release", "RELEASE_LOCK(", ")"};
  hangup_watch* noticed_by_ = nullptr;
  std::uint64_t noticed_ = 0;
  std::vector<sent_name> sent_{};  // of the last take or free, whose reply may come late; guarded by the exclusive use
  std::vector<sent_name> unsure_{};  // locks that it may hold and does not want; likewise
  mutable base::mutex mutex_;
  std::unordered_map<std::string, held> held_ DLOCK_GUARDED_BY(mutex_){};  // by name
};

}  // namespace dlock::stores::mysql::named_lock
