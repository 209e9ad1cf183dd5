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

/// What GET_LOCK is given for a key. `prefix` + key as it is, where MariaDB and MySQL alike take that for itself alone:
/// at most 64 printable ASCII characters without capital letters, no blank at the end, no '#' at the beginning.
/// Otherwise '#' and the first 63 hexadecimal digits of its SHA-256, which programs without dlock can make by SHA2(...,
/// 256).
std::string lock_name(std::string_view prefix, std::string_view key);

/// The connection of one session, on which all its named locks are held. The server ends it, and with it all of them,
/// when the client has been silent for the session's ttl. Thread safety: all functions may be called from any thread.
class lock_connection {
 public:
  lock_connection(std::unique_ptr<mysql_connection> link, std::chrono::milliseconds timeout, const session_record& of,
                  const std::string& prefix);
  ~lock_connection();
  lock_connection(const lock_connection&) = delete;
  lock_connection& operator=(const lock_connection&) = delete;

  /// Before anything else. Two round trips. False, and the reason, if the server does not take the statements.
  bool prepare(fault& why);
  /// `closed` is called when the server has closed the connection. `by` must outlive this.
  void notice_end(hangup_watch& by, std::function<void()> closed) noexcept;
  /// Has the server end it after so long a silence. False, and the reason, if that was not done.
  bool live_for(microseconds ttl, const cancel_signal& by, fault& why);
  /// One round trip. no: it is lost, or its server is to take no more locks.
  reply renew(microseconds ttl, const cancel_signal& by);
  /// One round trip for all of them; none for those that it holds already.
  void take(std::span<const request> requests, std::span<reply> replies, const cancel_signal& by);
  /// release: by the fence, which is the nonce of the grant; cancel: by the nonce. Likewise.
  void free(std::span<const request> requests, std::span<reply> replies, const cancel_signal& by);

  /// The process and the label of its session.
  const holder_info& holder() const noexcept { return holder_; }
  const connection_identity& identity() const noexcept { return link_.identity(); }
  bool usable() const noexcept { return link_.usable(); }
  /// Ends the connection, and with it all that it holds.
  void end() noexcept { link_.end(); }
  /// The nonce of the grant that it holds under that name.
  std::optional<std::uint64_t> holds(const std::string& name) const;
  std::vector<holder_info> all_held() const;

 private:
  using exclusive_use = lock_holding_connection::exclusive_use;
  struct held {
    std::string key{};
    std::uint64_t nonce = 0;
  };
  /// A function of the server's that has a name in between.
  struct lock_function {
    const char* doing;
    std::string_view begin;
    std::string_view end;
    key_statement* one = nullptr;  ///< for one name
  };
  struct sent_name {
    std::size_t request = 0;  ///< which one it is about
    std::string name{};
    held grant{};                       ///< of a take
    std::optional<std::string> said{};  ///< what a take was answered
  };

  outcome run(exclusive_use& mine, const lock_function& function, const std::vector<sent_name>& names,
              lock_holding_connection::handler done, fault& why);
  /// Puts the names of those requests into sent_ for which `fits(name, request)`, and answers the others.
  template <class Fits>
  void choose(std::span<const request> requests, std::span<reply> replies, const Fits& fits);
  /// Frees what a failed statement may have taken. False, and the reason: not known yet.
  bool settle(exclusive_use& mine, fault& why);

  const holder_info holder_;
  const std::string prefix_;
  lock_holding_connection link_;
  lock_function take_{"take", "GET_LOCK(", ", 0)"};
  lock_function free_{"release", "RELEASE_LOCK(", ")"};
  hangup_watch* noticed_by_ = nullptr;
  std::uint64_t noticed_ = 0;
  std::vector<sent_name> sent_{};    // by the last take or free: its answer may come late; guarded by the exclusive use
  std::vector<sent_name> unsure_{};  // what it may hold and does not want; likewise
  mutable base::mutex mutex_;
  std::unordered_map<std::string, held> held_ DLOCK_GUARDED_BY(mutex_){};  // by name
};

}  // namespace dlock::stores::mysql::named_lock
