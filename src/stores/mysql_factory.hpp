// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/mysql/connection-factory.hxx>
#include <odb/mysql/connection.hxx>
#include <odb/mysql/database.hxx>

#include <atomic>

#include "stores/mysql_native.hpp"
#include "stores/mysql_settings.hpp"
#include "stores/odb_names.hpp"

namespace dlock::detail {

/// An ODB connection that puts the table prefix into the statements of ODB's schema catalogue.
class mysql_odb_connection final : public odb::mysql::connection {
 public:
  mysql_odb_connection(odb::mysql::database& database, mysql_handle handle, const odb_names& names);

  using odb::mysql::connection::execute;
  unsigned long long execute(const char* statement, std::size_t length) override;

 private:
  const odb_names& names_;
};

/// Makes connections with our settings; without ODB's ping, which would be a round trip for each use.
class mysql_factory final : public odb::mysql::connection_factory {
 public:
  /// Both must outlive the factory.
  mysql_factory(const mysql_settings& settings, const odb_names& names) : settings_(settings), names_(names) {}

  /// Tries the hosts in turn, the last good one first. Null, and the reason, if none does: `limit` bounds the whole.
  odb::mysql::connection_ptr open(microseconds limit, fault& why);

  /// For ODB's own use. Throws odb::mysql::database_exception.
  odb::mysql::connection_ptr connect() override;
  void database(odb::mysql::database& database) override { database_ = &database; }

 private:
  const mysql_settings& settings_;
  const odb_names& names_;
  odb::mysql::database* database_ = nullptr;
  std::atomic<std::size_t> good_host_{0};
};

}  // namespace dlock::detail
