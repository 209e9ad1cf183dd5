// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/database.hpp"

#include <fmt/format.h>

#include <atomic>
#include <odb/mysql/connection-factory.hxx>
#include <odb/mysql/database.hxx>
#include <odb/mysql/exceptions.hxx>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/io_bound.hpp"
#include "stores/mysql/client/server.hpp"

namespace dlock::stores::mysql {

namespace {

/// Tries the hosts of the URL in turn, the last good one first.
class connections_by_url final : public odb::mysql::connection_pool_factory {
 public:
  explicit connections_by_url(mysql_settings settings) : settings_(std::move(settings)) {}

 protected:
  pooled_connection_ptr create() override {
    fault why;
    std::string reasons;
    const auto first = good_host_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i != settings_.hosts.size(); ++i) {
      const auto at = (first + i) % settings_.hosts.size();
      if (auto handle = open(settings_.hosts[at], why)) {
        good_host_.store(at, std::memory_order_relaxed);
        return adopt(std::move(handle));
      }
      add_reason(reasons, settings_.name, why.text);
    }
    throw odb::mysql::database_exception(static_cast<unsigned>(why.native), why.sqlstate, reasons);
  }

 private:
  /// A Galera node may not have seen yet what was granted by another one: BEGIN waits until it has. Without a cluster
  /// the variable has no effect, and a server without it does not matter.
  static void wait_for_cluster(MYSQL* handle) {
    fault ignored;
    if (is_mariadb(handle)) run_mysql(handle, "SET SESSION wsrep_sync_wait=@@wsrep_sync_wait|1", "", nullptr, ignored);
  }
  mysql_handle open(const store_url::endpoint& host, fault& why) const {
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
  pooled_connection_ptr adopt(mysql_handle handle) {
#if LIBODB_VERSION < 2050000
    pooled_connection_ptr connection(new (odb::details::shared) pooled_connection(*db_, handle.get()));
#else
    pooled_connection_ptr connection(new (odb::details::shared) pooled_connection(*this, handle.get()));
#endif
    handle.release();  // the connection closes it
    return connection;
  }

  const mysql_settings settings_;
  std::atomic<std::size_t> good_host_{0};
};

}  // namespace

std::unique_ptr<odb::database> open_application_database(const mysql_settings& settings) {
  // The names tell one database from another; connections are made by the settings alone.
  const auto host = settings.hosts.empty() ? store_url::endpoint{} : settings.hosts.front();
  const auto* const socket = settings.socket.empty() ? nullptr : &settings.socket;
  return std::make_unique<odb::mysql::database>(settings.user, "", settings.database, host.host, host.port, socket,
                                                "utf8mb4", 0, std::make_unique<connections_by_url>(settings));
}

}  // namespace dlock::stores::mysql
