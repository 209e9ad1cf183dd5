// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The verbs on locks, rows and sessions, the same for all databases: each one prepared statement.

#include <string>

#include "dlock/store_interface/store_types.hpp"
#include "stores/sql/lease_sql.hpp"
#include "stores/sql/row_sql.hpp"
#include "stores/sql/statement_values.hpp"

namespace dlock::stores::sql {

/// How a statement that changes rows is sent.
struct sending {
  /// About what is ours: a "no" must be the truth, also where a node of a cluster has not seen our grant yet.
  bool ours = false;
  row_wait if_locked = row_wait::avoid;
};

/// What the verbs need of a connection: the statements that it prepares at their first use and keeps.
class verb_connection {
 public:
  /// Changes lock tables, or the row that the values name: yes if it changed any, and the number that the statement
  /// makes known as the fence, or no.
  virtual reply change(statement_id which, const statement_values& values, sending how) = 0;
  virtual reply change(row_statement which, const statement_values& values, sending how) = 0;
  /// Who holds the key or the row that the values name: yes, or absent.
  virtual reply poll(const statement_values& values) = 0;

  /// Which lock tables these are: for rows.
  virtual tables_id tables() const noexcept = 0;
  virtual const table_names& names() const noexcept = 0;
  /// Not done, for a reason that stays.
  virtual reply refuse(std::string text) const = 0;
  /// Whether an INSERT failed because its row is there already.
  virtual bool is_there(const fault& why) const noexcept = 0;
  /// A grant whose fence the statement did not make known: reads it by session and nonce.
  virtual void read_fence(const request& asked, reply& grant) = 0;
  /// The "no" of a take of a key that was seen to be free, or of a renewal: makes it a failure if it came of a server
  /// that takes no writes any more.
  virtual void doubt(reply& no) = 0;

 protected:
  ~verb_connection() = default;
};

/// Whether what it is about can be written into a statement, and has an expiry where it needs one. Otherwise execute()
/// refuses it in words.
bool is_fit(const request& asked) noexcept;
/// The statement that does what is asked about a key.
statement_id statement_of(const request& asked) noexcept;
/// Sees to what the statement of a take, insert, take-over or pass-on has answered.
reply check_grant(verb_connection& on, const request& asked, reply answer);

/// Executes one request. Throws what the connection does.
reply execute(verb_connection& on, const request& asked);
/// The same of a session's row.
reply execute(verb_connection& on, session_verb action, const session_record& of);

}  // namespace dlock::stores::sql
