// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "stores/sql/application_database.hpp"
#include "stores/sqlite/lease_table/sleeping_waiters.hpp"

namespace dlock::stores::sqlite::lease_table {

/// Where the next step of clean-up begins.
struct sqlite_cleanup_cursor {
  bool sessions = true;    ///< there may be more of them
  std::int64_t after = 0;  ///< the rowid of the last key that was looked at; 0: from the first one
};

/// Answers operators and clean-up about the lock tables.
class sqlite_admin final : public store_admin {
 public:
  sqlite_admin(sleeping_waiters& waiters, const sql::application_database& application)
      : waiters_(waiters), application_(application) {}

  reply inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept override;
  reply list(connection& connection, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  reply revoke(connection& connection, const request& key) noexcept override;
  reply cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept override;
  reply overview(connection& connection, std::size_t limit, store_overview& found) noexcept override;
  reply waiters(connection& connection, std::string_view key, std::size_t limit,
                waiter_overview& found) noexcept override;
  reply row_tables(connection& connection, std::string_view name,
                   std::vector<std::shared_ptr<const row_table>>& found) noexcept override;
  reply held_rows(connection& connection, const std::shared_ptr<const row_table>& table, std::size_t limit,
                  std::vector<held_row>& found) noexcept override;
  reply examine(connection& connection, std::vector<store_finding>& found) noexcept override;
  /// Says which processes have those sessions. One that is not there keeps its text.
  reply name_sessions(connection& connection, std::map<id128, std::string>& sessions) noexcept;

 private:
  sleeping_waiters& waiters_;
  const sql::application_database& application_;
  base::mutex cleanup_mutex_{};
  sqlite_cleanup_cursor cleanup_cursor_ DLOCK_GUARDED_BY(cleanup_mutex_){};
};

}  // namespace dlock::stores::sqlite::lease_table
