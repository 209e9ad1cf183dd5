// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stores/mysql/lease_table/tables.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::stores::mysql::lease_table {

/// What transactions of the application's do with locks.
class mysql_application_database final : public sql::application_database {
 public:
  explicit mysql_application_database(lease_tables& tables) : tables_(tables) {}

  verification verification_of(const request& grant) const override;
  verification release_of(const request& grant) const override;
  reply blocker(connection& on, const request& key, connection_identity& out) noexcept override;
  bool caller_may_wait(fault&) const noexcept override { return true; }

  outcome shares(odb::connection& with, fault& why) const override;
  outcome glance(odb::connection& with) const noexcept override;
  sql::transaction_state transaction_on(odb::connection& with) const noexcept override;
  void break_off(odb::connection& with) const noexcept override;
  std::string address(odb::database& of) const override;
  void catch_up(odb::connection& with) const override;
  outcome describe(odb::connection& with, row_table& table, fault& why) const override;
  std::unique_ptr<odb::database> open_database() const override;
  std::string unfit_id(const row_table& table, std::span<const row_value> values) const override;
  fault fault_of(const std::exception& error) const override;
  bool may_be_done(const fault& why) const noexcept override;
  std::string free_rows(const row_table& table) const override { return tables_.row_sql.free_rows(table); }
  std::string abandoned_rows(const row_table& table) const override { return tables_.row_sql.abandoned_rows(table); }
  std::string lock_and_skip(const row_table& table) const override;
  bool locks_joined_rows() const noexcept override { return tables_.client.is_mariadb(); }
  /// Throws store_error if the id of the lock tables is not known.
  std::string claim(const sql::claim_request& request) const override;
  std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const override {
    return tables_.row_sql.rows_by_id(table, rows);
  }
  std::string add_columns(const row_table& table) const override { return tables_.row_sql.add_columns(table); }

 private:
  /// For a condition of a statement that runs on a connection of the application's: " AND <this is our server>". Its
  /// address may lead to another server by then, with a copy of our rows.
  std::string and_here() const;
  verification on_this_server(verification of) const;
  verification about_key(const request& grant, const char* source, std::vector<sql::named_value> more = {}) const;
  /// Of the sessions on connections of the application's.
  session_zone zone() const noexcept;

  lease_tables& tables_;
};

}  // namespace dlock::stores::mysql::lease_table
