// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "stores/sql/application_database.hpp"
#include "stores/sqlite/lease_table/file.hpp"

namespace dlock::stores::sqlite::lease_table {

/// What transactions of the application's do with locks.
class sqlite_application_database final : public sql::application_database {
 public:
  explicit sqlite_application_database(std::shared_ptr<lease_file> file) : file_(std::move(file)) {}

  verification verification_of(const request& grant) const override;
  verification release_of(const request& grant) const override;
  /// SQLite doesn't say which process has its file locked.
  reply blocker(connection&, const request&, connection_identity&) noexcept override { return {.result = outcome::no}; }
  bool caller_may_wait(fault& why) const noexcept override;

  outcome shares(odb::connection& with, fault& why) const override;
  outcome glance(odb::connection& with) const noexcept override;
  sql::transaction_state transaction_on(odb::connection& with) const noexcept override;
  std::string address(odb::database& database) const override;
  outcome describe(odb::connection& with, row_table& table, fault& why) const override;
  std::unique_ptr<odb::database> open_database() const override;
  odb::transaction_impl* begin_to_write(odb::connection& connection) const override;
  fault fault_of(const std::exception& error) const override;
  bool may_be_done(const fault& why) const noexcept override;
  std::string free_rows(const row_table& table) const override;
  std::string abandoned_rows(const row_table& table) const override;
  /// Rows need no locks beside the file's: such a transaction must be BEGIN IMMEDIATE.
  std::string lock_and_skip(const row_table& /*table*/) const override { return {}; }
  std::string claim(const sql::claim_request& request) const override;
  std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const override;
  std::string add_columns(const row_table& table) const override;

 private:
  const std::shared_ptr<lease_file> file_;
};

}  // namespace dlock::stores::sqlite::lease_table
