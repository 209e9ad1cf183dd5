// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/text.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/io_bound.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {

mysql_client::mysql_client(mysql_settings settings)
    : settings_(std::move(settings)), hosts_(settings_.hosts.size(), settings_.connect_timeout) {}

mysql_handle mysql_client::log_in(const store_url::endpoint& to, microseconds share, const std::stop_token& cancel,
                                  mysql_server& server, fault& why) {
  const auto prefix = fmt::format("dlock: {}: {}", settings_.name, settings_.where(to));
  const auto end = mysql_hosts::clock::now() + share;
  // If there is no other host, no time is kept for one.
  const bool named = settings_.hosts.size() > 1 && settings_.socket.empty();
  if (named && !lookup_.answers(to.host, end, cancel)) {
    why = make_own_fault(fmt::format("{}: the look-up of the host's name takes too long", prefix), true, true);
    return nullptr;
  }
  const mysql_io_bound bound(end, cancel);
  auto handle = connect_mysql(settings_, to, share, why);
  if (handle == nullptr) return nullptr;
  if (!read_server(handle.get(), server, why)) {
    why.text = fmt::format("{}: {}", prefix, why.text);
    why.connection = true;
    return nullptr;
  }
  // Our statements name tables without their database. A server may store its name in small letters.
  if (base::lower_case(server.database) != base::lower_case(settings_.database)) {
    why = make_own_fault(
        fmt::format("{}: the connection is in another database than {}: does the server's init_connect choose one?",
                    prefix, settings_.database),
        false, true);
    return nullptr;
  }
  if (!server.refusal.empty()) {
    why = make_own_fault(fmt::format("{}: {}", prefix, server.refusal), true, true);
    return nullptr;
  }
  return handle;
}

mysql_opened mysql_client::open_host(std::size_t host, microseconds share, const std::stop_token& cancel, fault& why) {
  using clock = mysql_hosts::clock;
  mysql_opened opened{.where = settings_.where(settings_.hosts[host]), .host = host, .refusals = hosts_.refusals(host)};
  const auto begun = clock::now();
  auto handle = log_in(settings_.hosts[host], share, cancel, opened.server, why);
  const auto took = std::chrono::duration_cast<microseconds>(clock::now() - begun);
  if (handle == nullptr) {
    if (!cancel.stop_requested()) hosts_.failed(host, clock::now(), took >= share ? share : microseconds{0});
    return opened;
  }
  hosts_.succeeded(host, took);
  opened.link = std::move(handle);
  return opened;
}

mysql_opened mysql_client::open(microseconds limit, const std::stop_token& cancel, fault& why) {
  using clock = mysql_hosts::clock;
  const auto end = clock::now() + limit;
  std::string reasons;
  auto others = settings_.hosts.size();
  for (const auto host : hosts_.order(clock::now())) {
    --others;
    const auto remaining = std::chrono::duration_cast<microseconds>(end - clock::now());
    why = {};
    auto opened = open_host(host, hosts_.share(host, others, std::max(remaining, microseconds{0})), cancel, why);
    if (opened.link) {
      auto* const handle = opened.link.get();
      can_refuse_to_wait_.store(mysql::can_refuse_to_wait(handle), std::memory_order_relaxed);
      can_skip_locked_.store(mysql::can_skip_locked(handle), std::memory_order_relaxed);
      is_mariadb_.store(mysql::is_mariadb(handle), std::memory_order_relaxed);
      const base::lock_guard lock(mutex_);
      server_ = opened.server;
      return opened;
    }
    add_reason(reasons, settings_.name, why.text);
    if (cancel.stop_requested()) break;
  }
  why.text = std::move(reasons);
  return {};
}

void mysql_client::note(const std::exception& error, fault& why) noexcept {
  why.transient = why.connection = true;
  try {
    why.text = error.what();
  } catch (...) {
    why.text.clear();
  }
}

mysql_server mysql_client::server() const {
  const base::lock_guard lock(mutex_);
  return server_;
}

// ---- connections of the application's -------------------------------------------------------------------------------

namespace {

/// A Galera node may not know yet what another node granted, so BEGIN waits until it does. Outside a cluster the
/// variable has no effect; a server without the variable needs none.
void wait_for_cluster(MYSQL* handle) {
  fault ignored;
  if (is_mariadb(handle)) run_mysql(handle, "SET SESSION wsrep_sync_wait=@@wsrep_sync_wait|1", "", nullptr, ignored);
}

}  // namespace

mysql_handle application_connections::open_host(const store_url::endpoint& host, fault& why) const {
  const mysql_io_bound bound(mysql_io_bound::clock::now() + settings_.connect_timeout, {});
  auto handle = connect_application(settings_, host, settings_.connect_timeout, why);
  if (handle) wait_for_cluster(handle.get());
  if (!handle || settings_.hosts.size() == 1) return handle;
  mysql_server server;
  if (!read_server(handle.get(), server, why)) return nullptr;
  if (server.refusal.empty()) return handle;
  why = make_own_fault(fmt::format("dlock: {}: {}: {}", settings_.name, settings_.where(host), server.refusal), true,
                       true);
  return nullptr;
}

mysql_handle application_connections::open(fault& why) {
  std::string reasons;
  const auto first = good_host_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i != settings_.hosts.size(); ++i) {
    const auto at = (first + i) % settings_.hosts.size();
    if (auto handle = open_host(settings_.hosts[at], why)) {
      good_host_.store(at, std::memory_order_relaxed);
      return handle;
    }
    add_reason(reasons, settings_.name, why.text);
  }
  why.text = std::move(reasons);
  return nullptr;
}

}  // namespace dlock::stores::mysql
