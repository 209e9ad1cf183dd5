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

/// The code that needs ODB's runtime for one kind of database. dlock::odb_mysql and dlock::odb_sqlite have one each,
/// which registers itself when it is linked. dlock::odb links none, because a program needs only those of its own
/// databases. Thread safety: as its arguments. Precondition of each function: the database is of that kind.
class database_part {
 public:
  /// The client library's handle.
  virtual void* handle_of(odb::connection& connection) const noexcept = 0;
  /// Ends a result that ODB has not read to its end, because until then the client library refuses other statements.
  virtual void end_result(odb::connection& /*connection*/) const {}
  /// Identifies the database among those of one program, so that facts about a table can be cached. Does no I/O.
  /// Returns an empty text if it can't.
  virtual std::string address_of(odb::database& database) const = 0;
  virtual std::unique_ptr<odb::database> open(const stores::sql::application_database& at) const = 0;
  /// Begins a transaction so that its writes can't be refused because others wrote meanwhile.
  virtual odb::transaction_impl* begin_to_write(odb::connection& connection) const { return connection.begin(); }
  virtual odb::transaction_impl* begin_to_write(odb::database& database) const { return database.begin(); }
  /// The name of a column, from what ODB's generated code registered for that kind of database
  /// (odb::native_column_info).
  virtual column_name name_of(const void* column) const = 0;
  /// Translates an exception that a connection threw.
  virtual fault fault_of(const stores::sql::application_database& at, const odb::exception& error) const = 0;

 protected:
  ~database_part() = default;  // nobody owns one
};

/// Registers a part, once, when it is linked. It stays registered.
DLOCK_EXPORT void add_database_part(odb::database_id kind, const database_part& part) noexcept;
/// Returns null if the part is not linked.
const database_part* find_database_part(odb::database_id kind) noexcept;

}  // namespace dlock::detail
