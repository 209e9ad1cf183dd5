// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/mysql/connection.hxx>
#include <odb/mysql/database.hxx>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/server.hpp"
#include "stores/mysql/client/settings.hpp"

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

/// A database of the application's own, reached as the locks are.
std::unique_ptr<odb::database> open_application_database(const mysql_settings& settings);

}  // namespace dlock::stores::mysql
