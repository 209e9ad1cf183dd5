// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "stores/sql/row_owner.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

/// What is left of a lock whose end is not known: a waiter polls again at its leisure.
constexpr microseconds no_end = std::chrono::hours{1};

/// Fills in what became of the session that the row names.
int poll_session(lease_connection& connection, sqlite_busy_retry& retry, seen& now) {
  statement_values values{.session = now.holder};
  bool found = false;
  const auto begin = [&found] { found = false; };
  const auto row = [&](const sqlite_statement& s) {
    found = true;
    now.who = sql::describe_holder(s.text(1), s.integer(2), s.text(3));
    if (now.kind != lease_kind::session) return;
    now.remaining = microseconds{std::max<std::int64_t>(0, s.integer(0) - values.now)};
    now.expired = s.integer(0) <= values.now;
  };
  const int code = connection.run(statement_id::poll_session, retry, values, begin, row);
  if (code == SQLITE_DONE && !found && now.kind == lease_kind::session) now.gone = now.expired = true;
  return code;
}

/// Session and row are read one after the other: a take-over looks at both again, in one statement.
reply poll(lease_connection& connection, sqlite_busy_retry& retry, const request& q, const statement_values& values,
           prepared_row& prepared) {
  reply answer{.result = outcome::absent};
  microseconds asked{0};
  row_times times;  // what is bound refers to it
  std::optional<microseconds> end;
  std::string owner;
  const auto begin = [&](sqlite_statement& s, std::int64_t boot_time) {
    answer.result = outcome::absent;
    owner.clear();
    asked = connection.file().row_now(*q.row->table, boot_time);
    times = row_times(values, asked);
    bind(s, prepared.text, values, &times);
  };
  const auto row = [&](const sqlite_statement& s) {
    answer.result = outcome::yes;
    owner = s.text(0);
    answer.holder.fence = static_cast<std::uint64_t>(s.integer(1));
    end.reset();
    if (!s.is_null(2)) end = microseconds{s.integer(2)};
  };
  int code = connection.run(prepared.statement, prepared.text.sql, retry, begin, row);
  if (code != SQLITE_DONE) return connection.refused(code, false);
  if (owner.empty()) return answer;
  const auto ours = sql::row_holder::parse(owner, connection.file().tables());
  answer.holder.kind = end ? sql::kind_of_expiry(*q.row->table) : lease_kind::session;
  answer.holder.remaining = no_end;
  if (end) {
    answer.holder.expired = has_passed(*q.row->table, *end, asked);
    answer.holder.remaining = answer.holder.expired ? microseconds{0} : *end - asked;
  }
  answer.holder.holder = ours ? ours->session : sql::foreign_owner;
  if (!ours) {
    answer.holder.who = sql::row_holder::describe_foreign(owner);
    return answer;
  }
  answer.holder.nonce = ours->nonce;
  code = poll_session(connection, retry, answer.holder);
  return code == SQLITE_DONE ? answer : connection.refused(code, false);
}

}  // namespace

reply run_row(lease_connection& connection, sqlite_busy_retry& retry, const request& q) {
  if (q.action == verb::insert) return {.result = outcome::absent};  // making rows is the application's business
  const bool needs_ttl = q.action == verb::take || q.action == verb::take_over || q.action == verb::extend;
  if (needs_ttl && q.ttl.count() == 0 && sql::by_column(*q.row->table)) {
    return {.why = {.text = fmt::format("table {}: row_renewal::column needs a ttl", q.row->table->table)}};
  }
  auto& file = connection.file();
  const sql::request_values values(q, file.tables());
  const auto which = sql::statement_for(q);
  auto& prepared =
      connection.rows().of(q.row->table, which, [&] { return row_statement_text(which, *q.row->table, file.names); });
  if (q.action == verb::poll) return poll(connection, retry, q, values, prepared);
  row_times times;  // what is bound refers to it
  reply granted{.result = outcome::no};
  const auto begin = [&](sqlite_statement& s, std::int64_t boot_time) {
    granted = {.result = outcome::no};
    times = row_times(values, file.row_now(*q.row->table, boot_time));
    bind(s, prepared.text, values, &times);
  };
  // A grant's row is shown before the change is committed: it counts only after SQLITE_DONE.
  const auto row = [&granted](const sqlite_statement& s) {
    granted = {.result = outcome::yes, .fence = static_cast<std::uint64_t>(s.integer(0))};
  };
  const int code = connection.run(prepared.statement, prepared.text.sql, retry, begin, row);
  const bool grants = q.action == verb::take || q.action == verb::take_over;
  return grants && code == SQLITE_DONE ? granted : connection.changed_by(code);
}

}  // namespace dlock::stores::sqlite::lease_table
