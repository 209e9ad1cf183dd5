// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What dlock::odb asks of a store that lives in an SQL database: its statements for transactions of the application's,
/// and whether a connection of the application's leads to the same place.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

enum class client_library : std::uint8_t { other, mysql, sqlite };

/// A connection of the application's, as its client library has it. No result may be unread.
struct application_connection {
  client_library library = client_library::other;
  void* handle = nullptr;  ///< MYSQL*, sqlite3*; null: that of another library
};

/// Where a database of the application's own is, and how it is reached: as the locks are.
struct application_address {
  std::string database{};  ///< SQLite: the file
  std::string user{};
  std::string host{};
  unsigned port = 0;
  std::string socket{};
  microseconds busy_timeout{0};  ///< SQLite
};

/// Thread safety: all functions may be called from any thread.
class application_database : public transactional_store {
 public:
  /// That of the connections for which these functions have answers.
  virtual client_library library() const noexcept = 0;

  /// Whether a connection of the application's leads to the server (SQLite: the file) of this store. yes, no; failed or
  /// unknown: `why`. At most one statement, on that connection, which reads no table.
  virtual outcome shares(const application_connection& with, fault& why) const = 0;
  /// What can be said of that without a statement. no: certainly elsewhere. unknown: only the server can tell, and the
  /// statements below match no row on another one.
  virtual outcome glance(const application_connection& with) const noexcept = 0;
  /// Why glance() says no, if it is not that the address is another one. No I/O.
  virtual std::string why_elsewhere(const application_connection& /*with*/) const { return {}; }
  /// As the client library has it from the last answer: no I/O. Precondition: glance() does not say no.
  virtual transaction_state transaction_on(const application_connection& with) const noexcept = 0;
  /// Ends the connection, and with it a transaction that could not be rolled back: nothing of it may be committed.
  virtual void break_off(const application_connection& /*with*/) const noexcept {}
  /// A statement that waits, on a node of a cluster, until the node has applied what others have committed. Not in a
  /// transaction, where the server does not wait. Empty: this is no cluster.
  virtual std::string catch_up() const { return {}; }
  /// Whether the server may roll a transaction back without the program learning of it: a node of a Galera cluster,
  /// where a write of another node can do that in the last moment of a SELECT. The error comes after the rows, and ODB,
  /// which loads an object by its id, does not read on. No I/O.
  virtual bool ends_unseen() const noexcept { return false; }
  /// Completes a table that is known by its name there: its database, its primary key. At most two statements. failed:
  /// `why` names what is missing. The store's own connections must be able to read and write it.
  virtual outcome describe(const application_connection& with, row_table& table, fault& why) const = 0;

  /// What keeps values from being the id of any row of the table; empty: nothing. No I/O.
  virtual std::string unfit_id(const row_table& /*table*/, std::span<const row_value> /*values*/) const { return {}; }

  /// Of a database of the application's own at this place.
  virtual application_address address() const = 0;
  /// Makes connections to it, which their user closes: their handle, or null and the reason. It may outlive the store.
  /// Empty: the client library's own way will do.
  virtual std::function<void*(fault& why)> connector() const { return {}; }

  /// Of what failed on a connection of the application's: the number that the client library has for it, or 0.
  virtual fault fault_of(int native, std::string_view sqlstate, std::string_view text) const = 0;
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

/// Null: the store is in no SQL database that applications share.
inline application_database* application_database_of(store& of) noexcept {
  return dynamic_cast<application_database*>(of.transactions());
}

}  // namespace dlock::stores::sql
