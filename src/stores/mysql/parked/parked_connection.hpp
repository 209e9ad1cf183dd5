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
    "a proxy stands between here and the server, and gives connections numbers of its own: no KILL QUERY is sent by it";

/// Two connections to one server: one sleeps there while it has the process's wake id, a named lock, until KILL QUERY
/// ends that; the other one asks meanwhile. Functions that return false set `why`, whose `connection` says that new
/// connections may help. One thread at a time.
class parked_connection {
 public:
  using clock = std::chrono::steady_clock;
  /// The longest sleep; shorter than the default of long_query_time, so that no sleep is in the slow query log.
  static constexpr std::chrono::seconds slice{9};

  /// New connections, and a new wake id.
  bool connect(mysql_client& client, const std::stop_token& stop, fault& why);
  bool connected() const noexcept { return parked_ != nullptr && helper_ != nullptr; }
  bool alive() noexcept;
  void close() noexcept;
  /// Breaks both. Any thread.
  void interrupt() noexcept;
  /// In a child of fork(): the parent speaks on the same sockets.
  void leave_to_parent() noexcept;

  /// Executes a statement beside the sleep.
  bool ask(const std::string& sql, const char* doing, mysql_rows* rows, fault& why) {
    return helper_->query(sql, doing, rows, nullptr, why) == outcome::yes;
  }
  /// Ends the sleep of another process, whose number ask() has just read.
  void wake(std::uint64_t sleeper) noexcept { kill(*helper_, helper_->neighbour(sleeper), kill_what::query); }
  /// Whether ask() and wake() can still work: as far as they have shown, and as far as can be seen.
  bool usable() const noexcept { return helper_->usable(); }
  bool can_ask() noexcept { return helper_ != nullptr && helper_->alive(); }

  /// Begins to sleep, and returns once other connections can see that.
  bool sleep(fault& why);
  bool sleeps() const noexcept { return sleeps_; }
  /// While it sleeps: can be read once the sleep has ended; -1: it does not.
  int descriptor() noexcept { return sleeps_ ? mysql_socket(parked_->handle()) : -1; }
  /// The sleep has ended by then, or the connection is broken.
  clock::time_point latest_end() const noexcept;
  enum class sleep_end : std::uint8_t { rung, over, broken };
  /// The sleep has ended.
  sleep_end read_end();
  void end_sleep() noexcept {
    if (sleeps_) wake(parked_->identity().id);
  }

  const id128& wake_id() const noexcept { return wake_id_; }

 private:
  std::string wake_id_name(std::string_view suffix = {}) const;
  bool confirm(fault& why);

  base::mutex replaced_{};  // held while they are made and ended, and by interrupt()
  std::unique_ptr<mysql_connection> parked_{};
  std::unique_ptr<mysql_connection> helper_{};
  bool sleeps_ = false;       // and was seen to
  bool has_wake_id_ = false;  // perhaps: to be freed before the next sleep
  id128 wake_id_{};
  clock::time_point sleeps_until_{};
};

}  // namespace dlock::stores::mysql::parked
