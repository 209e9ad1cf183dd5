// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "stores/sqlite/client/errors.hpp"

namespace dlock::stores::sqlite {

bool sqlite_connection::open(microseconds limit, bool create, fault& why, const std::stop_token& cancel) {
  const std::string& path = file_->settings.path;
  if (carried_over_fork(file_id::of(path.c_str()))) {
    why = {.connection = true,
           .text = fmt::format("SQLite file '{}': the parent process had it open when it forked this one, and SQLite "
                               "can't work with it here; close it before the fork, or exec after it",
                               path)};
    return false;
  }
  if (const int code = connect(create); code != SQLITE_OK) {
    why = sqlite_fault(code, path, handle_ ? ::sqlite3_errmsg(handle()) : "");
    why.connection = may_open_later(code);
    return false;
  }
  const std::stop_callback on_cancel(cancel, [this] { interrupt(); });
  return set_up(limit, why);
}

int sqlite_connection::connect(bool create) {
  // Marked before it is open, because another thread may fork in between. A new file has no number to mark yet.
  const auto path = file_->settings.path.c_str();
  if (const auto before = file_id::of(path); before != file_id{}) mark_.emplace(before);
  // Only one thread at a time uses a connection, so SQLite needs no mutex for it.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  sqlite3* opened = nullptr;
  int code = ::sqlite3_open_v2(path, &opened, flags, nullptr);
  handle_.reset(opened);
  if (code == SQLITE_OK) code = ::sqlite3_exec(opened, "PRAGMA foreign_keys=OFF", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return opened == nullptr ? SQLITE_NOMEM : ::sqlite3_extended_errcode(opened);
  if (!mark_) mark_.emplace(file_id::of(path));
  return code;
}

bool sqlite_connection::set_up(microseconds limit, fault& why) {
  const std::string& path = file_->settings.path;
  ::sqlite3_busy_timeout(handle(), 0);  // sqlite_busy_retry waits instead
  sqlite_busy_retry retry(*this, lane::read, limit);
  std::string answer;
  int code = pragma("PRAGMA journal_mode = WAL", retry, answer);
  const std::string mode = answer;
  if (code == SQLITE_OK) code = pragma("PRAGMA synchronous = FULL", retry, answer);
  if (code != SQLITE_OK) {
    why = sqlite_fault(code, path, ::sqlite3_errmsg(handle()));
  } else if (::sqlite3_db_readonly(handle(), "main") != 0 || !not_writable(path).empty()) {
    // Opening for writing silently falls back to reading, and only the first write would show it.
    why = sqlite_fault(SQLITE_READONLY, path);
  } else if (mode != "wal") {
    // No retry helps as long as the file is there.
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

// ---- what the code above all databases sends ------------------------------------------------------------------------

namespace {

void bind_value(sqlite_statement& to, int at, const sql::sql_value& value) {
  struct binding {
    sqlite_statement& to;
    int at;
    void operator()(std::monostate) const { to.bind_null(at); }
    void operator()(std::int64_t number) const { to.bind(at, number); }
    void operator()(std::uint64_t number) const { to.bind(at, number); }
    void operator()(std::string_view text) const { to.bind_text(at, text); }
    void operator()(sql::sql_bytes bytes) const { to.bind_blob(at, bytes.value); }
    void operator()(const id128& id) const { to.bind_id(at, id); }
  };
  std::visit(binding{to, at}, value);
}

void bind_all(sqlite_statement& to, sql::sql_values values, std::int64_t now, const sqlite_file& file) {
  std::size_t bound = 0;
  for (int at = 1; at <= to.parameter_count(); ++at) {
    const auto name = to.parameter_name(at).substr(1);
    const auto given = std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.name == name; });
    if (given != values.end()) {
      bind_value(to, at, given->value);
      ++bound;
    } else if (name == "now") {
      to.bind(at, now);
    } else if (name == "boot") {
      to.bind_text(at, file.boot);
    } else if (name == "wall") {
      to.bind(at, std::int64_t{file.wall_clock().count()});
    } else {
      throw std::logic_error(fmt::format("dlock: the parameter ':{}' has no value", name));
    }
  }
  if (bound != values.size()) throw std::logic_error("dlock: a value has no parameter");
}

sql::sql_row::cell cell_of(const sqlite_statement& row, int column) {
  if (row.is_null(column)) return std::monostate{};
  if (row.is_integer(column)) return row.integer(column);
  return std::string(row.is_blob(column) ? row.bytes(column) : row.text(column));
}

}  // namespace

reply sqlite_connection::read(const sql::sql_text& statement, sql::sql_values values, sql::sql_rows& rows) {
  sqlite_busy_retry retry(*this, lane::read);
  sqlite_statement once;
  auto& prepared = statement.kept ? kept_[&statement] : once;
  const auto bind = [&](sqlite_statement& to, std::int64_t now) {
    rows.clear();
    bind_all(to, values, now, *file_);
  };
  const auto row = [&](const sqlite_statement& shown) {
    std::vector<sql::sql_row::cell> cells;
    cells.reserve(static_cast<std::size_t>(shown.columns()));
    for (int i = 0; i != shown.columns(); ++i) cells.push_back(cell_of(shown, i));
    rows.emplace_back(std::move(cells));
  };
  const int code = run(prepared, statement.sql, retry, bind, row);
  return code == SQLITE_DONE ? reply{.result = outcome::yes} : refused(code, false);
}

reply sqlite_connection::change(const sql::sql_text& statement, sql::sql_values values) {
  if (writing_ != nullptr) return change_in(*writing_, statement, values);
  sqlite_busy_retry retry(*this, lane::write);
  writing alone{retry};
  return change_in(alone, statement, values);
}

reply sqlite_connection::change_in(writing& in, const sql::sql_text& statement, sql::sql_values values) {
  std::uint64_t number = 0;
  const auto bind = [&](sqlite_statement& to, std::int64_t now) {
    number = 0;
    bind_all(to, values, now, *file_);
  };
  // The row comes before the commit, so it counts only after SQLITE_DONE.
  const auto row = [&](const sqlite_statement& shown) { number = static_cast<std::uint64_t>(shown.integer(0)); };
  auto& prepared = statement.kept ? kept_[&statement] : in.statements[statement.sql];
  const int code = run(prepared, statement.sql, in.retry, bind, row);
  return changed_by(code, number);
}

reply sqlite_connection::changed_by(int code, std::uint64_t number) {
  if (code != SQLITE_DONE) return refused(code, true);
  return {.result = ::sqlite3_changes(handle()) > 0 ? outcome::yes : outcome::no, .fence = number};
}

reply sqlite_connection::transact(sql::body_ref changes) {
  sqlite_busy_retry retry(*this, lane::write);
  writing in{retry};
  const struct ending {
    writing*& to;
    ~ending() { to = nullptr; }
  } at_the_end{writing_ = &in};
  reply answer, failed;
  const bool done = transact(retry, failed, [&] {
    answer = changes();
    if (answer.result == outcome::yes) return true;
    failed = answer;
    // The statements of a transaction that was rolled back certainly changed nothing.
    if (failed.result == outcome::unknown) failed.result = outcome::failed;
    return false;
  });
  return done ? answer : failed;
}

reply sqlite_connection::attempt(const char* /*doing*/, sql::body_ref verb) noexcept try {
  if (const int code = check(); code != SQLITE_OK) return refused(code, false);
  try {
    return verb();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    // The effect of the earlier statements is unknown.
    return {.result = outcome::unknown,
            .why = {.transient = true, .text = fmt::format("SQLite file '{}': {}", file_->settings.path, e.what())}};
  }
} catch (...) {
  return out_of_memory();
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
  // Even after an interrupt, because an open transaction would block all writers. After a commit there is nothing to
  // do.
  if (::sqlite3_get_autocommit(handle()) == 0) ::sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

reply sqlite_connection::refused(int code, bool wrote) {
  reply answer{.result = wrote && may_be_committed(code) ? outcome::unknown : outcome::failed};
  // The connection's message is about its last call, and a wait that ended for another reason made none.
  const bool own = ::sqlite3_extended_errcode(handle()) == code && !is_busy(code);
  answer.why = sqlite_fault(code, file_->settings.path, own ? ::sqlite3_errmsg(handle()) : "");
  if (code == SQLITE_ERROR) explain(answer.why);
  if (answer.why.connection) broken_.store(true);
  return answer;
}

}  // namespace dlock::stores::sqlite
