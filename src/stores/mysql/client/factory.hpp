// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/mysql/connection-factory.hxx>
#include <odb/mysql/connection.hxx>
#include <odb/mysql/database.hxx>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/settings.hpp"
#include "stores/name_lookup.hpp"

namespace dlock::stores::mysql {

/// What a scheme makes of a statement that ODB generated, before it is sent: its tables may have another prefix. Empty:
/// nothing.
using statement_rewrite = std::function<std::string(std::string_view)>;

/// An ODB connection that rewrites the statements of ODB's schema catalogue.
class mysql_odb_connection final : public odb::mysql::connection {
 public:
  mysql_odb_connection(odb::mysql::database& database, mysql_handle handle, const statement_rewrite& rewrite);

  using odb::mysql::connection::execute;
  unsigned long long execute(const char* statement, std::size_t length) override;

 private:
  const statement_rewrite& rewrite_;
};

/// A connection to a server that takes locks, and what is known of it.
struct mysql_opened {
  odb::mysql::connection_ptr link{};  ///< null: none
  mysql_server server{};
  std::string where{};         ///< for messages
  std::size_t host = 0;        ///< of mysql_hosts
  std::uint64_t refusals = 0;  ///< of that host, when it was made
};

/// Makes connections with our settings; without ODB's ping, which would be a round trip for each use.
class mysql_factory final : public odb::mysql::connection_factory {
 public:
  /// Both must outlive the factory.
  mysql_factory(const mysql_settings& settings, const statement_rewrite& rewrite)
      : settings_(settings), rewrite_(rewrite), hosts_(settings.hosts.size(), settings.connect_timeout) {}

  /// Tries the hosts in turn, the last good one first; `limit` is the time that they share (mysql_hosts::share).
  /// Without a link, and the reason, if none does, or if `cancel` was requested.
  mysql_opened open(microseconds limit, const std::stop_token& cancel, fault& why);

  mysql_hosts& hosts() noexcept { return hosts_; }

  /// For ODB's own use. Throws odb::mysql::database_exception.
  odb::mysql::connection_ptr connect() override;
  void database(odb::mysql::database& database) override { database_ = &database; }

 private:
  mysql_opened open_host(std::size_t host, microseconds share, const std::stop_token& cancel, fault& why);
  mysql_handle log_in(const store_url::endpoint& to, microseconds share, const std::stop_token& cancel,
                      mysql_server& server, fault& why);

  const mysql_settings& settings_;
  const statement_rewrite& rewrite_;
  odb::mysql::database* database_ = nullptr;
  mysql_hosts hosts_;
  name_lookup lookup_{};
};

/// A database of the application's own, reached as the locks are.
std::unique_ptr<odb::database> open_application_database(const mysql_settings& settings);

}  // namespace dlock::stores::mysql
