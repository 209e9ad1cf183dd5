// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "stores/mysql/client/client.hpp"

namespace dlock::stores::mysql::parked {

inline constexpr std::string_view no_wake_by_proxy =
    "a proxy between here and the server has connection numbers of its own, so no KILL QUERY is sent through it";

/// Two connections to one server. One sleeps there and holds the process's wake id, a named lock, until KILL QUERY ends
/// the sleep; the other one sends statements meanwhile. Functions that return false set `why`; its `connection` says
/// that new connections may help. One thread at a time.
class parked_connection {
 public:
  using clock = std::chrono::steady_clock;
  /// The longest sleep; shorter than the default of long_query_time, so that no sleep is in the slow query log.
  static constexpr std::chrono::seconds slice{9};

  /// Makes new connections, and a new wake id.
  bool connect(mysql_client& client, const std::stop_token& stop, fault& why);
  bool connected() const noexcept { return parked_ != nullptr && helper_ != nullptr; }
  bool alive() noexcept;
  void close() noexcept;
  /// Breaks both connections. Any thread.
  void interrupt() noexcept;
  /// For a child of fork(), whose parent uses the same sockets.
  void leave_to_parent() noexcept;

  /// Executes a statement during the sleep.
  bool ask(const std::string& sql, const char* doing, mysql_rows* rows, fault& why) {
    return helper_->query(sql, doing, rows, nullptr, why) == outcome::yes;
  }
  /// Likewise. Sets the number of rows that were changed.
  bool change(const std::string& sql, const char* doing, std::uint64_t& rows, fault& why) {
    return helper_->query(sql, doing, nullptr, &rows, why) == outcome::yes;
  }
  /// The last argument of LAST_INSERT_ID() in that statement; 0 if the table has a trigger.
  std::uint64_t last_id() noexcept { return mysql_insert_id(helper_->handle()); }
  /// The connection that ask() uses.
  mysql_connection& helper() noexcept { return *helper_; }
  /// Ends the sleep of another process, whose connection number ask() has just read.
  void wake(std::uint64_t sleeper) noexcept { kill(*helper_, helper_->neighbour(sleeper), kill_what::query); }
  /// Whether ask() and wake() can still work, according to their results and to the socket.
  bool usable() const noexcept { return helper_->usable(); }
  bool can_ask() noexcept { return helper_ != nullptr && helper_->alive(); }

  /// Begins to sleep, which other connections see soon after.
  bool sleep(fault& why);
  /// Returns once they see it, or the sleep is over.
  bool confirm(fault& why);
  bool sleeps() const noexcept { return sleeps_; }
  /// The number of the connection that sleeps.
  std::uint64_t sleeper() const noexcept { return parked_->identity().id; }
  /// Frees the wake id, so that no release takes this process for one that sleeps. Precondition: it does not sleep.
  bool free_wake_id(fault& why);
  /// While it sleeps, a descriptor that is readable when the sleep has ended; otherwise -1.
  int descriptor() noexcept { return sleeps_ ? mysql_socket(parked_->handle()) : -1; }
  /// By this time the sleep has ended, or the connection is broken.
  clock::time_point latest_end() const noexcept;
  enum class sleep_end : std::uint8_t { rung, over, broken };
  /// Reads how the sleep ended. Precondition: it has ended.
  sleep_end read_end();
  void end_sleep() noexcept {
    if (sleeps_) wake(parked_->identity().id);
  }

  const id128& wake_id() const noexcept { return wake_id_; }

 private:
  std::string wake_id_name(std::string_view suffix = {}) const;

  base::mutex replaced_{};  // locked while the connections are made and ended, and by interrupt()
  std::unique_ptr<mysql_connection> parked_{};
  std::unique_ptr<mysql_connection> helper_{};
  bool sleeps_ = false;
  bool has_wake_id_ = false;  // it may hold the wake id, which must be freed before the next sleep
  id128 wake_id_{};
  clock::time_point sleeps_until_{};
};

}  // namespace dlock::stores::mysql::parked
