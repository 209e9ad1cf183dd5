// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The interface of a store in an SQL database for dlock::odb: its statements for transactions of the application, and
/// whether a connection of the application leads to the same database.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dlock/store_interface/transactional_store.hpp"
#include "stores/sql/row_sql.hpp"

namespace dlock::stores::sql {

/// Whether writes on a connection can still be rolled back.
enum class transaction_state {
  none,     ///< each statement is committed by itself
  pending,  ///< the next statement begins a transaction (autocommit=0)
  open,
};

enum class client_library : std::uint8_t { other, mysql, sqlite };

/// A connection of the application, as a handle of its client library. It may have no unread result.
struct application_connection {
  client_library library = client_library::other;
  void* handle = nullptr;  ///< MYSQL* or sqlite3*; null if it belongs to another library
};

/// Where the application's own database is, and how to connect to it: as to the locks.
struct application_address {
  std::string database{};  ///< SQLite: the file
  std::string user{};
  std::string host{};
  unsigned port = 0;
  std::string socket{};
  microseconds busy_timeout{0};  ///< SQLite
};

/// Statements for a transaction of the application that marks a key as done. `insert` inserts the mark. If it changes
/// no row and `counts` finds one, the key is done. Otherwise `replace` replaces a mark that does not count any more.
/// `counts` locks only shared, as the insert of a row that is there does: of many that wait for the same transaction,
/// none could get more.
/// `holds` finds one row if this transaction's mark is there. `create` makes the table, if it may be missing and the
/// transaction can make it; otherwise it is empty.
struct done_statements {
  std::vector<std::string> create{};
  std::string insert{};
  std::string counts{};
  std::string replace{};
  std::string holds{};
};

/// Thread safety: all functions may be called from any thread.
class application_database : public transactional_store {
 public:
  /// The library of the connections that these functions accept.
  virtual client_library library() const noexcept = 0;

  /// Whether a connection of the application leads to the server (SQLite: the file) of this store. Returns yes or no,
  /// or failed or unknown with `why`. Sends at most one statement on that connection, which reads no table.
  virtual outcome shares(const application_connection& with, fault& why) const = 0;
  /// Answers shares() without a statement. no: certainly another server. unknown: only the server could tell; the
  /// statements below match no row on another server.
  virtual outcome glance(const application_connection& with) const noexcept = 0;
  /// Why glance() says no, if the reason is not a different address. No I/O.
  virtual std::string why_elsewhere(const application_connection& /*with*/) const { return {}; }
  /// As the client library knows it from the last reply, without I/O. Precondition: glance() does not say no.
  virtual transaction_state transaction_on(const application_connection& with) const noexcept = 0;
  /// Ends the connection, so that a transaction that could not be rolled back can't be committed.
  virtual void break_off(const application_connection& /*with*/) const noexcept {}
  /// A statement that waits until this node of a cluster has applied what other nodes have committed. It must be sent
  /// outside a transaction, because in one the server does not wait. Empty if this is no cluster.
  virtual std::string catch_up() const { return {}; }
  /// Whether the server may roll a transaction back without the program noticing: on a Galera cluster a write of
  /// another node can do that at the end of a SELECT. The error comes after the rows, and ODB, which loads an object by
  /// its id, does not read that far. No I/O.
  virtual bool ends_unseen() const noexcept { return false; }
  /// Completes a table of which only the name is known: its database and its primary key. At most two statements. If it
  /// returns failed, `why` names what is missing. The store's own connections must be able to read and write the table.
  virtual outcome describe(const application_connection& with, row_table& table, fault& why) const = 0;

  /// Why no row of the table can have these values as its id; empty if one can. No I/O.
  virtual std::string unfit_id(const row_table& /*table*/, std::span<const row_value> /*values*/) const { return {}; }

  virtual application_address address() const = 0;
  /// Returns a function that connects to that address and returns the handle, which its user closes, or null and `why`.
  /// It may outlive the store. Empty if the client library needs no help to connect.
  virtual std::function<void*(fault& why)> connector() const { return {}; }

  /// Translates an error of the application's connection. `native` is the client library's error number, or 0.
  virtual fault fault_of(int native, std::string_view sqlstate, std::string_view text) const = 0;
  /// Whether a statement that failed so may have been executed.
  virtual bool may_be_done(const fault& why) const noexcept = 0;

  /// A SELECT that finds one row if its transaction sees what was committed before the grant. Empty if a transaction
  /// that doesn't see it can't be verified anyway (SQLite).
  virtual std::string sees(const request& /*grant*/) const { return {}; }

  /// Precondition: capabilities::marks.
  virtual done_statements mark_as_done(std::string_view key, std::optional<microseconds> valid,
                                       std::string_view by) const = 0;

  // ---- SQL text ---------------------------------------------------------------------------------------------------
  /// Conditions for a WHERE: the row has no holder; its holder may be dead, which must be checked row by row.
  virtual std::string free_rows(const row_table& table) const = 0;
  virtual std::string abandoned_rows(const row_table& table) const = 0;
  /// The end of a SELECT that makes it lock the rows of this table and skip locked ones. May be empty.
  virtual std::string lock_and_skip(const row_table& table) const = 0;
  /// Whether lock_and_skip() also locks rows of tables that the SELECT joins.
  virtual bool locks_joined_rows() const noexcept { return false; }
  /// One statement that grants rows that this transaction has locked.
  virtual std::string claim(const claim_request& request) const = 0;
  /// A condition that selects rows by their ids.
  virtual std::string rows_by_id(const row_table& table, std::span<const row_id* const> rows) const = 0;
  /// ALTER TABLE statements that add the lock columns to a table without them.
  virtual std::string add_columns(const row_table& table) const = 0;
};

/// Returns null if the store is in no SQL database that applications share.
inline application_database* application_database_of(store& of) noexcept {
  return dynamic_cast<application_database*>(of.transactions());
}

}  // namespace dlock::stores::sql
