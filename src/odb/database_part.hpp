// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/database.hxx>
#include <odb/exception.hxx>

#include <memory>
#include <string>

#include "dlock/export.hpp"
#include "odb/column_name.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::detail {

/// What needs ODB's runtime for one kind of database. dlock::odb_mysql and dlock::odb_sqlite have one each, which makes
/// itself known when it is linked: dlock::odb links none, because a program needs those of its own databases only.
/// Thread safety: as what it is asked about.
class database_part {
 public:
  /// The client library's. Precondition: that kind of database; of each function.
  virtual void* handle_of(odb::connection& connection) const noexcept = 0;
  /// Ends a result that ODB has not read to its end: until then the client library does nothing else on the connection.
  virtual void end_result(odb::connection& /*connection*/) const {}
  /// Identifies the database among those of one program, so that facts about a table can be cached: no I/O. Empty: it
  /// can't.
  virtual std::string address_of(odb::database& database) const = 0;
  virtual std::unique_ptr<odb::database> open(const stores::sql::application_database& at) const = 0;
  /// Begins a transaction that writes, in the way that can't be refused later because others wrote meanwhile.
  virtual odb::transaction_impl* begin_to_write(odb::connection& connection) const { return connection.begin(); }
  virtual odb::transaction_impl* begin_to_write(odb::database& database) const { return database.begin(); }
  /// Of a column that ODB's generated code has made known for that kind of database (odb::native_column_info).
  virtual column_name name_of(const void* column) const = 0;
  /// Of an exception that a connection threw.
  virtual fault fault_of(const stores::sql::application_database& at, const odb::exception& error) const = 0;

 protected:
  ~database_part() = default;  // nobody owns one
};

/// Once, when it is linked; never unset.
DLOCK_EXPORT void add_database_part(odb::database_id kind, const database_part& part) noexcept;
/// Null: it is not linked.
const database_part* find_database_part(odb::database_id kind) noexcept;

}  // namespace dlock::detail
