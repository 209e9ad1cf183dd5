// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/database.hxx>
#include <odb/session.hxx>
#include <odb/transaction.hxx>

#include <functional>
#include <string>

#include "engine/core/service_core.hpp"
#include "odb/application.hpp"
#include "odb/outer_transaction.hpp"

namespace dlock::detail {

/// The database that holds an engine's locks. Throws std::invalid_argument if ODB does not support it.
odb_application application_of(engine::service_core& home);

/// Throws store_error if a write of this thread in a separate transaction would wait for this very thread (SQLite).
void ensure_can_write(engine::service_core& home);

/// Throws std::invalid_argument, because a table that was in the database of the locks is not there any more.
[[noreturn]] void leads_elsewhere_now(const store& store, const std::string& why = {});
/// Throws if the transaction has ended too early: store_error, so that the caller retries, where the server may have
/// rolled it back unseen; otherwise std::logic_error.
void ensure_open(const odb_application& application, odb::connection& connection);

/// A transaction on a separate connection, current as long as it lives. It restores the caller's current transaction
/// and session, and uses neither: the session's objects may be older than the lock.
class own_transaction {
 public:
  enum class use { reads, writes };

  /// Throws as ensure_can_write() if it writes, and std::invalid_argument if `db` is another database now.
  own_transaction(engine::service_core& home, odb::database& db, use purpose);
  /// Rolls back if it wasn't committed.
  ~own_transaction();
  own_transaction(const own_transaction&) = delete;
  own_transaction& operator=(const own_transaction&) = delete;

  odb::transaction& get() noexcept { return mine_; }
  odb::connection& connection() noexcept { return *connection_; }
  /// If there is no reply, calls `unsure` and throws store_error (outcome_unknown). Throws as ensure_open() if
  /// something, for example DDL in a callback of ODB's, has ended the transaction already.
  void commit(const odb_application& application, const std::function<void()>& unsure = {});

 private:
  const outer_transaction outer_{};  // before mine_, so that it is restored after the end of that
  const use purpose_;
  odb::session* const session_;
  const odb::connection_ptr connection_;
  odb::transaction mine_;
};

/// Calls `ended` when that transaction ends, with ODB's number of the outcome, on the thread that ends it.
void at_outcome(odb::transaction& in, std::function<void(unsigned short event)> ended);

/// Retries `work` after a transient failure (a deadlock, another writer) until `timeout` has passed. `work` must leave
/// nothing behind when it throws.
void with_retries(const odb_application& application, std::chrono::milliseconds timeout,
                  const std::function<void()>& work);

/// Executes a statement that should change a known number of rows, and returns how many it changed. If it fails or
/// changes another number because the connection leads to another server (SQLite: file), calls `elsewhere`, which
/// throws. An address may lead to another server tomorrow, so that check is not cached; it costs one more statement,
/// only where something is wrong. Throws what ODB throws.
unsigned long long execute_there(const odb_application& application, odb::connection& connection,
                                 const std::string& sql, unsigned long long expected,
                                 const std::function<void()>& elsewhere);

}  // namespace dlock::detail
