// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The verbs on locks, rows and sessions, the same for all databases. Each is one prepared statement.

#include <string>

#include "dlock/store_interface/store_types.hpp"
#include "stores/sql/lease_sql.hpp"
#include "stores/sql/row_text.hpp"
#include "stores/sql/statement_values.hpp"

namespace dlock::stores::sql {

/// How a statement that changes rows is sent.
struct sending {
  /// The statement is about our own grant: a "no" must be true even if this node of a cluster has not seen the grant
  /// yet.
  bool ours = false;
  row_wait if_locked = row_wait::avoid;
};

/// The interface of a connection for the verbs. It prepares each statement at its first use and keeps it.
class verb_connection {
 public:
  /// Changes lock tables, or the row that the values name. Returns yes if it changed any, with the number that the
  /// statement returned as the fence, or no.
  virtual reply change(statement_id which, const statement_values& values, sending how) = 0;
  virtual reply change(row_statement which, const statement_values& values, sending how) = 0;
  /// Reads who holds the key or the row that the values name. Returns yes or absent.
  virtual reply poll(const statement_values& values) = 0;

  /// The id of the lock tables, for rows.
  virtual tables_id tables() const noexcept = 0;
  virtual const table_names& names() const noexcept = 0;
  /// A reply that the request was not executed, for a lasting reason.
  virtual reply refuse(std::string text) const = 0;
  /// Whether an INSERT failed because its row exists.
  virtual bool is_there(const fault& why) const noexcept = 0;
  /// Reads the fence of a grant by session and nonce, if the statement did not return it.
  virtual void read_fence(const request& asked, reply& grant) = 0;
  /// Called for a "no" to a renewal, or to a take of a key that was seen to be free. Makes it a failure if the server
  /// accepts no writes any more.
  virtual void doubt(reply& no) = 0;

 protected:
  ~verb_connection() = default;
};

/// Whether the request's key or row can be written into a statement, and it has an expiry if it needs one. Otherwise
/// execute() refuses it with a message.
bool is_fit(const request& asked) noexcept;
/// The statement for a request about a key.
statement_id statement_of(const request& asked) noexcept;
/// Completes the reply of a take, insert, take-over or pass-on.
reply check_grant(verb_connection& on, const request& asked, reply answer);

/// Executes one request. Throws what the connection throws.
reply execute(verb_connection& on, const request& asked);
/// Executes a verb on a session's row.
reply execute(verb_connection& on, session_verb action, const session_record& of);

}  // namespace dlock::stores::sql
