// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "dlock/store_interface/store.hpp"
#include "stores/sql/sql_connection.hpp"
#include "stores/sqlite/client/busy_retry.hpp"
#include "stores/sqlite/client/file.hpp"
#include "stores/sqlite/client/statement.hpp"

namespace dlock::stores::sqlite {

struct sqlite_close_handle {
  void operator()(sqlite3* handle) const noexcept { ::sqlite3_close(handle); }
};
using sqlite_handle = std::unique_ptr<sqlite3, sqlite_close_handle>;

/// A connection to a file. It knows no tables: a scheme derives from it, or uses it with other statements.
class sqlite_connection : public sql::sql_connection {
 public:
  explicit sqlite_connection(std::shared_ptr<sqlite_file> file) : file_(std::move(file)) {}

  /// Must come once, before everything else. Returns false and sets `why` on failure, or if `cancel` is requested.
  /// `create`: makes the file if it is missing. Throws only std::bad_alloc.
  bool open(microseconds limit, bool create, fault& why, const std::stop_token& cancel = {});

  void interrupt() noexcept override;
  bool usable() const noexcept override { return !broken_.load() && !interrupted_.load(); }
  const connection_identity& identity() const noexcept override { return identity_; }

  /// Must come before each batch. Returns SQLITE_OK, or why nothing may be executed (interrupted, file replaced). Costs
  /// one stat().
  int check() noexcept;

  /// Runs a statement to its end, and prepares it at its first use. Calls bind(statement, now) before each attempt and
  /// row(statement) for each row. A row counts only if SQLITE_DONE is returned; a later attempt repeats it. Throws what
  /// bind and row throw, for lack of memory. The statement must be destroyed before the connection.
  template <class Bind, class Row>
  int run(sqlite_statement& statement, std::string_view sql, sqlite_busy_retry& retry, Bind&& bind, Row&& row);

  /// Calls body() between BEGIN IMMEDIATE and COMMIT. The body returns whether all went well, or sets `failed`. If this
  /// returns false, `failed` has the reason, and the body's changes were rolled back (unless that is unknown). Throws
  /// only std::bad_alloc, and what body throws.
  template <class Body>
  bool transact(sqlite_busy_retry& retry, reply& failed, Body&& body);

  sql::row_locks locks() const noexcept override { return sql::row_locks::of_file; }
  reply read(const sql::sql_text& statement, sql::sql_values values, sql::sql_rows& rows) override;
  reply change(const sql::sql_text& statement, sql::sql_values values) override;
  reply transact(sql::body_ref changes) override;
  reply attempt(const char* doing, sql::body_ref verb) noexcept override;

  /// The reply of a statement that changes rows and for which run() returned that code: no if it changed none. `number`
  /// is the one that it returned.
  reply changed_by(int code, std::uint64_t number);
  /// The reply for a code other than success. `wrote`: the statement was a change.
  reply refused(int code, bool wrote);
  /// Adds to an SQLITE_ERROR's text what it means for the tables of a scheme.
  virtual void explain(fault& /*why*/) {}

  sqlite_file& file() noexcept { return *file_; }
  sqlite3* handle() noexcept { return handle_.get(); }
  const std::atomic<bool>& interrupted() const noexcept { return interrupted_; }
  sqlite_write_queue::waiter& waiter() noexcept { return waiter_; }

 private:
  /// A transaction of changes, with its prepared statements.
  struct writing {
    sqlite_busy_retry& retry;
    std::map<std::string, sqlite_statement, std::less<>> statements{};
  };

  reply change_in(writing& in, const sql::sql_text& statement, sql::sql_values values);
  /// Returns SQLITE_OK, or why the file can't be opened.
  int connect(bool create);
  /// Makes the settings, and checks what can't work. Returns false and sets `why` if something can't.
  bool set_up(microseconds limit, fault& why);
  int pragma(const char* sql, sqlite_busy_retry& retry, std::string& answer);
  void roll_back() noexcept;

  std::shared_ptr<sqlite_file> file_;
  std::optional<sqlite_open_mark> mark_;  // outlives handle_
  sqlite_handle handle_;
  // After handle_, because they must be finalized before it is closed.
  sqlite_statement begin_{};
  sqlite_statement commit_{};
  std::map<const sql::sql_text*, sqlite_statement> kept_{};
  writing* writing_ = nullptr;  // while transact() runs
  connection_identity identity_{};
  sqlite_write_queue::waiter waiter_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> broken_{false};
};

template <class Bind, class Row>
int sqlite_connection::run(sqlite_statement& statement, std::string_view sql, sqlite_busy_retry& retry, Bind&& bind,
                           Row&& row) {
  int code = retry.begin();
  if (code != SQLITE_OK) return code;
  do {
    if (!statement && statement.prepare(handle(), sql) != SQLITE_OK) {
      code = ::sqlite3_extended_errcode(handle());
      continue;  // asks again() whether to retry
    }
    const struct ending {
      sqlite_statement& statement;
      ~ending() { statement.reset(); }
    } at_the_end{statement};
    bind(statement, file_->now());
    while ((code = statement.step()) == SQLITE_ROW) row(statement);
    if (code != SQLITE_DONE) code = ::sqlite3_extended_errcode(handle());
  } while (retry.again(code));
  return code;
}

template <class Body>
bool sqlite_connection::transact(sqlite_busy_retry& retry, reply& failed, Body&& body) {
  const auto nothing = [](auto&&...) {};
  if (const int code = run(begin_, "BEGIN IMMEDIATE", retry, nothing, nothing); code != SQLITE_DONE) {
    failed = refused(code, false);
    return false;
  }
  const struct ending {
    sqlite_connection& connection;
    ~ending() { connection.roll_back(); }
  } at_the_end{*this};
  if (!body()) return false;
  const int code = run(commit_, "COMMIT", retry, nothing, nothing);
  if (code != SQLITE_DONE) failed = refused(code, true);
  return code == SQLITE_DONE;
}

}  // namespace dlock::stores::sqlite
