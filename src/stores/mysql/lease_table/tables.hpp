// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "stores/key_listeners.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/client/settings.hpp"
#include "stores/mysql/lease_table/connection.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/sql.hpp"
#include "stores/mysql/parked/parked_waiters.hpp"
#include "stores/sql/schema.hpp"

namespace dlock::stores::mysql::lease_table {

using lease_settings = sql::lease_settings<mysql_settings>;

/// The lock tables, and the server that they are on: what the objects of a store share. Thread safety: all functions
/// may be called from any thread.
struct lease_tables {
  explicit lease_tables(lease_settings from);

  std::unique_ptr<lease_connection> open(microseconds limit, const std::stop_token& cancel, fault& why) noexcept {
    return client.open<lease_connection>(limit, cancel, why, sql);
  }
  /// Which lock tables these are, unless that is known. One statement.
  reply read_id(lease_connection& with);
  /// Whether waiters are woken there, and so have rows that can be read.
  bool knows_waiters(const lease_connection& with) const noexcept {
    return settings.wake && waiters.bells().can_read(with);
  }

  const lease_settings settings;
  const lease_sql sql;
  mysql_row_sql row_sql;
  mysql_client client;
  store_listeners listeners{};
  parked::parked_waiters waiters;  // ends before its client
};

/// For messages: the floor table has no row with the id of the lock tables.
std::string no_tables_id(const std::string& floor_table);

}  // namespace dlock::stores::mysql::lease_table
