// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/connection.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "stores/sql/polled.hpp"

namespace dlock::stores::sqlite::lease_table {
namespace {

/// The session that a row names, as a poll reads it.
struct session_row {
  std::int64_t remaining = 0;
  std::string host{};
  std::int64_t pid = 0;
  std::string label{};
};

}  // namespace

seen holder_in_key(const sqlite_statement& row, std::int64_t now) {
  const bool kept = row.is_null(2), gone = row.is_null(3);
  const std::int64_t end = kept && gone ? now : row.integer(kept ? 3 : 2);
  return sql::holder_of({.holder = row.id(0),
                         .fence = static_cast<std::uint64_t>(row.integer(1)),
                         .kept = kept,
                         .gone = gone,
                         .remaining = end - now,
                         .host = row.text(4),
                         .pid = row.integer(5),
                         .label = row.text(6),
                         .nonce = static_cast<std::uint64_t>(row.integer(7))});
}

prepared_row& lease_connection::of_row(sql::row_statement which, const row_id& row) {
  return rows_.of(row.table, which, [&] { return file_.row_sql.prepared(which, *row.table); });
}

// A grant's row comes before the commit, so it counts only after SQLITE_DONE.
reply lease_connection::change(sqlite_statement& statement, const sql::statement_text& text,
                               const statement_values& values) {
  std::uint64_t number = 0;
  row_times times;  // what is bound refers to it
  const auto begin = [&](sqlite_statement& to, std::int64_t now) {
    number = 0;
    const bool of_row = values.row != nullptr;
    if (of_row) times = row_times(values, file_.row_now(*values.row->table, now));
    bind(to, text, values, {now, file_.boot, of_row ? &times : nullptr});
  };
  const auto row = [&](const sqlite_statement& shown) { number = static_cast<std::uint64_t>(shown.integer(0)); };
  const int code = run(statement, text.sql, *retry_, begin, row);
  return changed_by(code, number);
}

reply lease_connection::change(statement_id which, const statement_values& values, sql::sending) {
  return change(statements_[static_cast<std::size_t>(which)], file_.sql.statement(which), values);
}

reply lease_connection::change(sql::row_statement which, const statement_values& values, sql::sending) {
  auto& prepared = of_row(which, *values.row);
  return change(prepared.statement, prepared.text, values);
}

/// The time was read before the row. A renewal in between makes a living holder look dead only for a moment, and its
/// removal checks again.
reply lease_connection::poll(const statement_values& values) {
  if (values.row != nullptr) return poll_row(values);
  reply answer;
  std::int64_t asked = 0;
  const auto begin = [&](std::int64_t now) {
    asked = now;
    answer = {.result = outcome::absent};
  };
  const auto row = [&](const sqlite_statement& shown) {
    answer = {.result = outcome::yes, .holder = holder_in_key(shown, asked)};
  };
  const int code = run(statement_id::poll, *retry_, values, begin, row);
  return code == SQLITE_DONE ? answer : refused(code, false);
}

/// Reads session and row one after the other, because SQLite before 3.41 can't find a session by its digits. A
/// take-over checks both again, in one statement.
reply lease_connection::poll_row(const statement_values& values) {
  const auto& table = *values.row->table;
  auto& prepared = of_row(sql::row_statement::poll, *values.row);
  reply answer;
  std::string owner;
  row_times times;  // what is bound refers to it
  sql::polled_row read;
  const auto begin = [&](sqlite_statement& to, std::int64_t now) {
    answer.result = outcome::absent;
    owner.clear();
    times = row_times(values, file_.row_now(table, now));
    read = {};
    bind(to, prepared.text, values, {now, file_.boot, &times});
  };
  const auto row = [&](const sqlite_statement& shown) {
    answer.result = outcome::yes;
    owner = shown.text(0);
    read.fence = static_cast<std::uint64_t>(shown.integer(1));
    read.kept = shown.is_null(2);
    if (read.kept) return;
    const microseconds end{shown.integer(2)};
    read.remaining = has_passed(table, end, times.now()) ? 0 : (end - times.now()).count();
  };
  int code = run(prepared.statement, prepared.text.sql, *retry_, begin, row);
  if (code != SQLITE_DONE) return refused(code, false);
  read.owner = owner;
  const auto ours = sql::row_holder::parse(owner, tables());
  if (answer.result != outcome::yes || !ours) {
    if (answer.result == outcome::yes) answer.holder = sql::holder_of(read, table, tables());
    return answer;
  }
  session_row session;
  std::int64_t asked = 0;
  const auto again = [&](std::int64_t now) {
    asked = now;
    session = {};
    read.gone = true;
  };
  const auto session_shown = [&](const sqlite_statement& shown) {
    session = {shown.integer(0) - asked, std::string(shown.text(1)), shown.integer(2), std::string(shown.text(3))};
    read.gone = false;
  };
  code = run(statement_id::poll_session, *retry_, {.session = ours->session}, again, session_shown);
  if (code != SQLITE_DONE) return refused(code, false);
  if (read.kept) read.remaining = session.remaining;
  read.host = session.host;
  read.pid = session.pid;
  read.label = session.label;
  answer.holder = sql::holder_of(read, table, tables());
  return answer;
}

/// A lock table that is not there, of a service that did not look at its start, or that was dropped since. SQLite has
/// no code for a missing table: a statement that needs nothing but our tables shows whether one is.
void lease_connection::explain(fault& why) {
  sqlite_statement all;
  if (all.prepare(handle(), file_.names.expand("SELECT 1 FROM {lock}, {session}, {floor}")) == SQLITE_ERROR)
    why.text += ": open the store once with schema=create to make the lock tables";
}

reply lease_connection::refuse(std::string text) const {
  return {.why = {.text = fmt::format("SQLite file '{}': {}", file_.settings.path, text)}};
}

}  // namespace dlock::stores::sqlite::lease_table
