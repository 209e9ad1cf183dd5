// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/database.hxx>
#include <odb/exception.hxx>

#include <string>

#include "odb/database_part.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::detail {

/// The SQL database that a store is in, for ODB's connections and exceptions. A value type; the store must outlive it.
/// Its functions are those of application_database, which take an odb::connection instead of the handle in it.
class odb_application {
 public:
  /// Throws std::logic_error if the part of dlock::odb for that kind of database is not linked.
  explicit odb_application(const stores::sql::application_database& of);

  /// For the functions that need no connection.
  const stores::sql::application_database* operator->() const noexcept { return of_; }

  outcome shares(odb::connection& with, fault& why) const;
  outcome glance(odb::connection& with) const noexcept { return of_->glance(handle_of(with)); }
  std::string why_elsewhere(odb::connection& with) const { return of_->why_elsewhere(handle_of(with)); }
  stores::sql::transaction_state transaction_on(odb::connection& with) const noexcept {
    return of_->transaction_on(handle_of(with));
  }
  void break_off(odb::connection& with) const noexcept { of_->break_off(handle_of(with)); }
  /// Throws what ODB throws. Costs one statement on a cluster, otherwise none.
  void catch_up(odb::connection& with) const;
  outcome describe(odb::connection& with, row_table& table, fault& why) const;

  /// As database_part::address_of(), but empty if the database is of another kind.
  std::string address_of(odb::database& database) const;
  std::unique_ptr<odb::database> open_database() const { return part_->open(*of_); }
  odb::transaction_impl* begin_to_write(odb::connection& connection) const;
  fault fault_of(const odb::exception& error) const { return part_->fault_of(*of_, error); }

 private:
  stores::sql::application_connection handle_of(odb::connection& with) const noexcept;

  const stores::sql::application_database* of_;
  const database_part* part_;
};

/// ODB's id of that kind of database; id_common if it has none.
odb::database_id kind_of(stores::sql::client_library library) noexcept;

}  // namespace dlock::detail
