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

#include "engine/core/blocking_calls.hpp"
#include "odb/application.hpp"
#include "odb/outer_transaction.hpp"

namespace dlock::detail {

/// The place of an engine's locks. Throws std::invalid_argument if that is no database of ODB's.
odb_application application_of(engine::service_core& home);

/// Throws store_error if a write of this thread in a separate transaction would wait for this very thread (SQLite).
void ensure_can_write(engine::service_core& home);

/// Throws std::invalid_argument: a table was found in the place of the locks once, and is not there any more.
[[noreturn]] void leads_elsewhere_now(const store& store, const std::string& why = {});
/// Throws if what was to be one transaction has ended in the midst: store_error, to be tried again, where the server
/// may have rolled it back unseen; otherwise std::logic_error.
void ensure_open(const odb_application& application, odb::connection& connection);

/// A transaction on a separate connection, current as long as it lives. What was the caller's current transaction and
/// session is neither used nor lost: the session's objects may be older than the lock.
class own_transaction {
 public:
  enum class use { reads, writes };

  /// Throws as ensure_can_write(), if it writes; std::invalid_argument, if `db` leads elsewhere now.
  own_transaction(engine::service_core& home, odb::database& db, use purpose);
  /// Rolls back unless committed.
  ~own_transaction();
  own_transaction(const own_transaction&) = delete;
  own_transaction& operator=(const own_transaction&) = delete;

  odb::transaction& get() noexcept { return mine_; }
  odb::connection& connection() noexcept { return *connection_; }
  /// Throws store_error (outcome_unknown) if there was no answer, after calling `unsure`; as ensure_open(), if
  /// something in between (DDL in a callback of ODB's, for example) has ended the transaction already.
  void commit(const odb_application& application, const std::function<void()>& unsure = {});

 private:
  const outer_transaction outer_{};  // before mine_: put back after its end
  const use purpose_;
  odb::session* const session_;
  const odb::connection_ptr connection_;
  odb::transaction mine_;
};

/// Calls `ended` once that transaction has an outcome, with ODB's number of it, on the thread that ends it.
void at_outcome(odb::transaction& in, std::function<void(unsigned short event)> ended);

/// Runs `work` again as long as it fails for a while only (a deadlock, another writer) and `timeout` has not passed.
/// `work` must leave nothing behind when it throws.
void with_retries(const odb_application& application, std::chrono::milliseconds timeout,
                  const std::function<void()>& work);

/// Executes a statement that is to change so many rows in the place; gives how many it did. Where it fails or changes
/// another number because the connection leads to another server (SQLite: file), `elsewhere` is called, which throws.
/// An address may lead to one server today and to another tomorrow, so no answer about that is kept. One more
/// statement, only where something is wrong. Throws what ODB throws.
unsigned long long execute_there(const odb_application& application, odb::connection& connection,
                                 const std::string& sql, unsigned long long expected,
                                 const std::function<void()>& elsewhere);

}  // namespace dlock::detail
