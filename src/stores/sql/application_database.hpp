// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What dlock::odb asks of a store that lives in a database which ODB serves: the database's dialect, and whether a
/// connection of the application's leads to the same place.

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/database.hxx>
#include <odb/exception.hxx>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dlock/store_interface/transactional_store.hpp"

namespace dlock::stores::sql {

/// A row that a claim is to take, and under which name.
struct claim_request {
  const row_table& table;
  std::span<const row_id* const> rows;  ///< of that table, at least one
  id128 session{};
  std::uint64_t nonce = 0;
  microseconds own_ttl{0};  ///< row_renewal::column
};

/// Whether what is written on a connection can still be taken back.
enum class transaction_state {
  none,     ///< each statement is committed by itself
  pending,  ///< the next statement begins a transaction (autocommit=0)
  open,
};

/// Thread safety: all functions may be called from any thread.
class application_database : public transactional_store {
 public:
  /// Whether a connection of the application's leads to the server (SQLite: the file) of this store. yes, no; failed or
  /// unknown: `why`. At most one statement, on that connection, which reads no table.
  virtual outcome shares(odb::connection& with, fault& why) const = 0;
  /// What can be said of that without a statement. no: certainly elsewhere. unknown: only the server can tell, and the
  /// statements below match no row on another one.
  virtual outcome glance(odb::connection& with) const noexcept = 0;
  /// Why glance() says no, if it is not that the address is another one. No I/O.
  virtual std::string why_elsewhere(odb::connection& /*with*/) const { return {}; }
  /// As the client library has it from the last answer: no I/O. Precondition: glance() does not say no.
  virtual transaction_state transaction_on(odb::connection& with) const noexcept = 0;
  /// Ends the connection, and with it a transaction that could not be rolled back: nothing of it may be committed.
  virtual void break_off(odb::connection& /*with*/) const noexcept {}
  /// Identifies the database among those of one program, so that facts about a table can be cached: no I/O. Empty: it
  /// can't.
  virtual std::string address(odb::database& /*of*/) const { return {}; }
  /// On a node of a cluster that may not have applied yet what another node has committed: waits until it has. Not in a
  /// transaction, where the server does not wait. Throws what ODB throws. Cost: one statement on a cluster, else none.
  virtual void catch_up(odb::connection& /*with*/) const {}
  /// Whether the server may roll a transaction back without the program learning of it: a node of a Galera cluster,
  /// where a write of another node can do that in the last moment of a SELECT. The error comes after the rows, and ODB,
  /// which loads an object by its id, does not read on. No I/O.
  virtual bool ends_unseen() const noexcept { return false; }
  /// Completes a table that is known by its name there: its database, its primary key. At most two statements. failed:
  /// `why` names what is missing. The store's own connections must be able to read and write it.
  virtual outcome describe(odb::connection& with, row_table& table, fault& why) const = 0;

  /// What keeps values from being the id of any row of the table; empty: nothing. No I/O.
  virtual std::string unfit_id(const row_table& /*table*/, std::span<const row_value> /*values*/) const { return {}; }

  /// A database of the application's own at this place.
  virtual std::unique_ptr<odb::database> open_database() const = 0;
  /// Begins a transaction that writes, in the way that can't be refused later because others wrote meanwhile.
  virtual odb::transaction_impl* begin_to_write(odb::connection& connection) const { return connection.begin(); }

  /// Of an exception that a connection of this kind threw.
  virtual fault fault_of(const std::exception& error) const = 0;
  /// Whether what failed so may have been done all the same.
  virtual bool may_be_done(const fault& why) const noexcept = 0;

  /// A SELECT that finds one row if the transaction in which it runs sees what was committed before the grant. Empty:
  /// where that does not, its verification fails (SQLite).
  virtual std::string sees(const request& /*grant*/) const { return {}; }

  // ---- SQL text ---------------------------------------------------------------------------------------------------
  /// Conditions, for a WHERE: the row has no holder; its holder may be dead (a hint, to be looked at row by row).
  virtual std::string free_rows(const row_table& table) const = 0;
  virtual std::string abandoned_rows(const row_table& table) const = 0;
  /// What a SELECT ends with so that it locks the rows of this table that it reads and passes over locked ones; may be
  /// empty.
  virtual std::string lock_and_skip(const row_table& table) const = 0;
  /// Whether that locks rows of tables that the SELECT joins as well.
  virtual bool locks_joined_rows() const noexcept { return false; }
  /// Grants rows that this transaction has locked: one statement.
  virtual std::string claim(const claim_request& request) const = 0;
  /// A condition that names rows by their ids.
  virtual std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const = 0;
  /// Adds the lock columns to a table that has none: ALTER TABLE statements.
  virtual std::string add_columns(const row_table& table) const = 0;
};

/// Null: the store is in no database that ODB serves.
inline application_database* application_database_of(store& of) noexcept {
  return dynamic_cast<application_database*>(of.transactions());
}

}  // namespace dlock::stores::sql
