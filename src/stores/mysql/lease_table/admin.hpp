// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "stores/mysql/lease_table/tables.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::stores::mysql::lease_table {

/// Where clean-up is on its way through the lock table.
struct mysql_cleanup_cursor {
  std::string after{};                   ///< it goes on behind this key; empty: it begins
  std::set<std::string> dead{};          ///< sessions that were dead when it began, and were not met on the way
  std::vector<std::string> forgotten{};  ///< those left at its end: nothing names them, so they may go
};

/// Answers operators and clean-up about the lock tables.
class mysql_admin final : public store_admin {
 public:
  mysql_admin(lease_tables& tables, const sql::application_database& application)
      : tables_(tables), application_(application) {}

  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept override;
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  reply revoke(connection& on, const request& key) noexcept override;
  reply cleanup(connection& on, microseconds idle, std::size_t limit) noexcept override;
  reply overview(connection& on, std::size_t limit, store_overview& found) noexcept override;
  reply waiters(connection& on, std::string_view key, std::size_t limit, waiter_overview& found) noexcept override;
  reply row_tables(connection& on, std::string_view name,
                   std::vector<std::shared_ptr<const row_table>>& found) noexcept override;
  reply held_rows(connection& on, const std::shared_ptr<const row_table>& table, std::size_t limit,
                  std::vector<held_row>& found) noexcept override;
  reply examine(connection& on, std::vector<store_finding>& found) noexcept override;

 private:
  lease_tables& tables_;
  const sql::application_database& application_;
  base::mutex cleanup_mutex_;
  mysql_cleanup_cursor cleanup_cursor_ DLOCK_GUARDED_BY(cleanup_mutex_){};
};

}  // namespace dlock::stores::mysql::lease_table
