// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "stores/sql/holder_rows.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

/// What is left of a lock whose end is not known: a waiter polls again at its leisure.
constexpr microseconds no_end = std::chrono::hours{1};

/// The values of one request; they live until its statement was stepped to its end.
class row_values {
 public:
  row_values(const request& q, const lease_file& file)
      : q_(q), fence_(q.fence), column_(sql::by_column(*q.row->table)), file_(file) {
    const sql::row_holder ours{q.session, q.nonce, file.tables()};
    owner_ = ours.text();
    verified_owner_ = ours.verified_text();
    if (q.action != verb::take_over) return;
    fence_ = q.expected->fence;
    seen_session_ = q.expected->holder;
    const sql::row_holder theirs{q.expected->holder, q.expected->nonce, file.tables()};
    seen_owner_ = theirs.text();
    seen_verified_owner_ = theirs.verified_text();
  }

  /// Of the clock that the table's rows go by.
  microseconds now(std::int64_t boot_time) const noexcept { return file_.row_now(*q_.row->table, boot_time); }

  void bind(sqlite_statement& to, const sql::statement_text& text, std::int64_t boot_time) {
    note_times(now(boot_time));
    int at = 0;
    for (const auto number : text.parameters) bind(to, ++at, number);
  }

 private:
  void bind(sqlite_statement& to, int at, std::size_t number) {
    switch (static_cast<row_parameter>(number)) {
      case row_parameter::now: return column_ ? to.bind_text(at, now_text_) : to.bind(at, now_);
      case row_parameter::owner: return to.bind_text(at, owner_);
      case row_parameter::verified_owner: return to.bind_text(at, verified_owner_);
      case row_parameter::expiry: return bind_expiry(to, at);
      case row_parameter::fence: return to.bind(at, fence_);
      case row_parameter::seen_owner: return to.bind_text(at, seen_owner_);
      case row_parameter::seen_verified_owner: return to.bind_text(at, seen_verified_owner_);
      case row_parameter::seen_session: return to.bind_id(at, seen_session_);
      case row_parameter::horizon: return to.bind(at, now_ + row_horizon.count());
      case row_parameter::id: break;
    }
    const row_value& value = q_.row->values.at(number - static_cast<std::size_t>(row_parameter::id));
    if (const auto* text = std::get_if<std::string>(&value)) {
      to.bind_text(at, *text);
    } else if (const auto* signed_number = std::get_if<std::int64_t>(&value)) {
      to.bind(at, *signed_number);
    } else {
      to.bind(at, std::get<std::uint64_t>(value));
    }
  }

  void bind_expiry(sqlite_statement& to, int at) {
    const bool kept = q_.kind == lease_kind::session && q_.action != verb::extend;
    if (column_) {
      to.bind_text(at, end_text_);
    } else if (kept) {
      to.bind_null(at);
    } else {
      to.bind(at, now_ + q_.ttl.count());
    }
  }

  void note_times(microseconds at) {
    now_ = at.count();
    if (!column_) return;
    now_text_ = row_time(at, false);
    end_text_ = row_time(at + q_.ttl, true);
  }

  const request& q_;
  std::int64_t now_ = 0;
  std::uint64_t fence_;  // take_over: that was seen
  id128 seen_session_{};
  const bool column_;
  const lease_file& file_;
  std::string owner_{}, verified_owner_{}, seen_owner_{}, seen_verified_owner_{}, now_text_{}, end_text_{};
};

/// Fills in what became of the session that the row names.
int poll_session(lease_connection& connection, sqlite_busy_retry& retry, seen& now) {
  lease_values values{.session = now.holder};
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
reply poll(lease_connection& connection, sqlite_busy_retry& retry, const request& q, row_values& values,
           sqlite_row_statements::prepared& prepared) {
  reply answer{.result = outcome::absent};
  microseconds asked{0};
  std::optional<microseconds> end;
  std::string owner;
  const auto bind = [&](sqlite_statement& s, std::int64_t boot_time) {
    answer.result = outcome::absent;
    owner.clear();
    asked = values.now(boot_time);
    values.bind(s, prepared.text, boot_time);
  };
  const auto row = [&](const sqlite_statement& s) {
    answer.result = outcome::yes;
    owner = s.text(0);
    answer.holder.fence = static_cast<std::uint64_t>(s.integer(1));
    end.reset();
    if (!s.is_null(2)) end = microseconds{s.integer(2)};
  };
  int code = connection.run(prepared.statement, prepared.text.sql, retry, bind, row);
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

sqlite_row_statements::prepared& sqlite_row_statements::of(const std::shared_ptr<const row_table>& table,
                                                           sql::row_statement which, const sql::table_names& names) {
  auto& all = used_last_first_;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.table == table; });
  if (found != all.end()) {
    all.splice(all.begin(), all, found);
  } else {
    if (all.size() == most_tables) all.pop_back();
    all.emplace_front().table = table;
  }
  auto& statement = all.front().statements[static_cast<std::size_t>(which)];
  if (statement.text.sql.empty()) statement.text = row_statement_text(which, *table, names);
  return statement;
}

reply run_row(lease_connection& connection, sqlite_busy_retry& retry, const request& q) {
  if (q.action == verb::insert) return {.result = outcome::absent};  // making rows is the application's business
  const bool needs_ttl = q.action == verb::take || q.action == verb::take_over || q.action == verb::extend;
  if (needs_ttl && q.ttl.count() == 0 && sql::by_column(*q.row->table)) {
    return {.why = {.text = fmt::format("table {}: row_renewal::column needs a ttl", q.row->table->table)}};
  }
  row_values values(q, connection.file());
  auto& prepared = connection.rows().of(q.row->table, sql::statement_for(q), connection.file().names);
  if (q.action == verb::poll) return poll(connection, retry, q, values, prepared);
  reply granted{.result = outcome::no};
  const auto bind = [&](sqlite_statement& s, std::int64_t boot_time) {
    granted = {.result = outcome::no};
    values.bind(s, prepared.text, boot_time);
  };
  // A grant's row is shown before the change is committed: it counts only after SQLITE_DONE.
  const auto row = [&granted](const sqlite_statement& s) {
    granted = {.result = outcome::yes, .fence = static_cast<std::uint64_t>(s.integer(0))};
  };
  const int code = connection.run(prepared.statement, prepared.text.sql, retry, bind, row);
  const bool grants = q.action == verb::take || q.action == verb::take_over;
  return grants && code == SQLITE_DONE ? granted : connection.changed_by(code);
}

}  // namespace dlock::stores::sqlite::lease_table
