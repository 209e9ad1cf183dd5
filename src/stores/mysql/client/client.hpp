// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <concepts>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/client/settings.hpp"
#include "stores/name_lookup.hpp"

namespace dlock::stores::mysql {

/// Connects to the servers of a URL. Thread safety: all functions may be called from any thread.
class mysql_client {
 public:
  explicit mysql_client(mysql_settings settings);

  const mysql_settings& settings() const noexcept { return settings_; }

  /// Makes a scheme's connection from `(mysql_opened, arguments..., mysql_hosts&)`. Returns null and sets `why` if no
  /// server accepts locks within `limit`, or `cancel` was requested.
  template <std::derived_from<mysql_connection> Connection, class... Arguments>
  std::unique_ptr<Connection> open(microseconds limit, const std::stop_token& cancel, fault& why,
                                   const Arguments&... arguments) noexcept {
    try {
      auto opened = open(limit, cancel, why);
      if (!opened.link) return nullptr;
      return std::make_unique<Connection>(std::move(opened), arguments..., hosts_);
    } catch (const std::exception& e) {
      note(e, why);
    }
    return nullptr;
  }

  // About the server of the last connection.
  bool can_refuse_to_wait() const noexcept { return can_refuse_to_wait_.load(std::memory_order_relaxed); }
  bool can_skip_locked() const noexcept { return can_skip_locked_.load(std::memory_order_relaxed); }
  bool is_mariadb() const noexcept { return is_mariadb_.load(std::memory_order_relaxed); }
  mysql_server server() const;

 private:
  /// Tries the hosts in turn, the last good one first; they share `limit` (mysql_hosts::share). Returns no link and
  /// sets `why` if none accepts locks, or `cancel` was requested.
  mysql_opened open(microseconds limit, const std::stop_token& cancel, fault& why);
  mysql_opened open_host(std::size_t host, microseconds share, const std::stop_token& cancel, fault& why);
  mysql_handle log_in(const store_url::endpoint& to, microseconds share, const std::stop_token& cancel,
                      mysql_server& server, fault& why);
  static void note(const std::exception& error, fault& why) noexcept;

  const mysql_settings settings_;
  mysql_hosts hosts_;
  name_lookup lookup_{};
  std::atomic<bool> can_refuse_to_wait_{false};
  std::atomic<bool> can_skip_locked_{false};
  std::atomic<bool> is_mariadb_{false};
  mutable base::mutex mutex_;
  mysql_server server_ DLOCK_GUARDED_BY(mutex_){};
};

/// Makes the application's own connections to the servers of a URL, with the settings of the locks. Thread safety: all
/// functions may be called from any thread.
class application_connections {
 public:
  explicit application_connections(mysql_settings settings) : settings_(std::move(settings)) {}

  /// Tries the hosts in turn, the last good one first. Returns null and sets `why` if none accepts writes.
  mysql_handle open(fault& why);

 private:
  mysql_handle open_host(const store_url::endpoint& host, fault& why) const;

  const mysql_settings settings_;
  std::atomic<std::size_t> good_host_{0};
};

}  // namespace dlock::stores::mysql
