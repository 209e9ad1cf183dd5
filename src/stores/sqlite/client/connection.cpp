// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/connection.hpp"

#include <fmt/format.h>

#include <odb/exceptions.hxx>
#include <odb/sqlite/exceptions.hxx>

#include "stores/sqlite/client/errors.hpp"

namespace dlock::stores::sqlite {

bool sqlite_connection::open(microseconds limit, bool create, fault& why, const std::stop_token& cancel) {
  const std::string& path = file_->settings.path;
  try {
    if (carried_over_fork(file_id::of(path.c_str()))) {
      why = {.text = fmt::format("SQLite file '{}': the parent process had it open when it forked this one, and SQLite "
                                 "can't work with it here; close it before the fork, or exec after it",
                                 path)};
      return false;
    }
    connect(create);
    const std::stop_callback on_cancel(cancel, [this] { interrupt(); });
    return set_up(limit, why);
  } catch (const odb::sqlite::database_exception& e) {
    why = sqlite_fault(e.extended_error(), path, e.message());
    why.connection = may_open_later(e.extended_error());
  } catch (const odb::exception& e) {
    why = {.text = fmt::format("SQLite file '{}': {}", path, e.what())};
  }
  why.connection = true;
  return false;
}

void sqlite_connection::connect(bool create) {
  // Marked before it is open: another thread may fork in between. A new file can't be, before it has a number.
  const auto path = file_->settings.path.c_str();
  if (const auto before = file_id::of(path); before != file_id{}) mark_.emplace(before);
  odb_ = file_->connect(create);
  if (!mark_) mark_.emplace(file_id::of(path));
}

bool sqlite_connection::set_up(microseconds limit, fault& why) {
  const std::string& path = file_->settings.path;
  ::sqlite3_busy_timeout(handle(), 0);  // sqlite_busy_retry does the waiting
  sqlite_busy_retry retry(*this, lane::read, limit);
  std::string answer;
  int code = pragma("PRAGMA journal_mode = WAL", retry, answer);
  const std::string mode = answer;
  if (code == SQLITE_OK) code = pragma("PRAGMA synchronous = FULL", retry, answer);
  if (code != SQLITE_OK) {
    why = sqlite_fault(code, path, ::sqlite3_errmsg(handle()));
  } else if (::sqlite3_db_readonly(handle(), "main") != 0 || !not_writable(path).empty()) {
    // Opening for writing falls back to reading without saying so, and the first write would tell.
    why = sqlite_fault(SQLITE_READONLY, path);
  } else if (mode != "wal") {
    // As long as the file is where it is: no connection can be made, whatever is tried.
    why = {.native = SQLITE_CANTOPEN,
           .text = fmt::format("SQLite file '{}': journal mode stays '{}' instead of WAL, which needs a file system of "
                               "this host that can share memory",
                               path, mode)};
    return false;
  } else {
    const char* const full = ::sqlite3_db_filename(handle(), "main");
    const file_id id = file_id::of(full);
    identity_ = {fmt::format("sqlite:{}:{}:{}", id.device, id.inode, full), file_->boot, 0};
    code = check();
    if (code == SQLITE_OK) return true;
    why = sqlite_fault(code, path);
  }
  why.connection = may_open_later(why.native);
  return false;
}

int sqlite_connection::pragma(const char* sql, sqlite_busy_retry& retry, std::string& answer) {
  sqlite_statement statement;
  const int code = run(
      statement, sql, retry, [&](auto&&...) { answer.clear(); },
      [&](const sqlite_statement& row) { answer = row.text(0); });
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

void sqlite_connection::interrupt() noexcept {
  interrupted_.store(true);
  ::sqlite3_interrupt(handle());
  file_->queue.nudge(waiter_);
}

int sqlite_connection::check() noexcept {
  if (interrupted_.load(std::memory_order_relaxed)) return SQLITE_INTERRUPT;
  int moved = 0;
  ::sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved == 0) return SQLITE_OK;
  broken_.store(true);
  return SQLITE_READONLY_DBMOVED;
}

void sqlite_connection::roll_back() noexcept {
  // Whatever happened, an interrupt too: an open transaction would stop all writers. Nothing to do after a commit.
  if (::sqlite3_get_autocommit(handle()) == 0) ::sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

reply sqlite_connection::refused(int code, bool wrote) {
  reply answer{.result = wrote && may_be_committed(code) ? outcome::unknown : outcome::failed};
  // The connection's message is about its last call; a wait that ended otherwise made none.
  const bool own = ::sqlite3_extended_errcode(handle()) == code && !is_busy(code);
  answer.why = sqlite_fault(code, file_->settings.path, own ? ::sqlite3_errmsg(handle()) : "");
  if (code == SQLITE_ERROR) explain(answer.why);
  if (answer.why.connection) broken_.store(true);
  return answer;
}

}  // namespace dlock::stores::sqlite
