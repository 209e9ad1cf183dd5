// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sqlite/lease_table/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "stores/sql/row_owner.hpp"
#include "stores/sqlite/lease_table/connection.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

using sql::row_owner;

constexpr auto no_rows = [](const sqlite_statement&) {};
/// What is left of a lock whose end nobody knows: a waiter looks again at its leisure.
constexpr microseconds no_end = std::chrono::hours{1};

row_hot statement_for(const request& q) noexcept {
  switch (q.action) {
    case verb::take:
    case verb::insert: return row_hot::take;
    case verb::look: return row_hot::look;
    case verb::take_over:
      if (q.expected->kind == lease_kind::session) return row_hot::take_over_kept;
      return q.expected->holder == sql::foreign_owner ? row_hot::take_over_stranger : row_hot::take_over_own;
    case verb::extend: return row_hot::extend;
    case verb::release: return row_hot::release;
    case verb::cancel: return row_hot::cancel;
  }
  return row_hot::look;
}

/// The values of one request; they live until its statement was stepped to its end.
class row_values {
 public:
  row_values(const request& q, const lease_file& file)
      : q_(q), fence_(q.fence), column_(q.row->table->renewal == row_renewal::column), file_(file) {
    const sql::row_owner ours{q.session, q.nonce};
    owner_ = ours.text();
    verified_owner_ = ours.verified_text();
    if (q.action != verb::take_over) return;
    fence_ = q.expected->fence;
    seen_session_ = q.expected->holder;
    const sql::row_owner theirs{q.expected->holder, q.expected->nonce};
    seen_owner_ = theirs.text();
    seen_verified_owner_ = theirs.verified_text();
  }

  /// Of the clock that the table's rows go by.
  microseconds now(std::int64_t boot_time) const noexcept {
    return column_ ? file_.wall_clock() : microseconds{boot_time} + file_.row_epoch();
  }

  void operator()(sqlite_statement& s, std::int64_t boot_time) {
    bind_times(s, now(boot_time));
    s.bind_text(row_parameter::owner, owner_);
    s.bind_text(row_parameter::verified_owner, verified_owner_);
    s.bind(row_parameter::fence, fence_);
    s.bind_text(row_parameter::seen_owner, seen_owner_);
    s.bind_text(row_parameter::seen_verified_owner, seen_verified_owner_);
    s.bind_id(row_parameter::seen_session, seen_session_);
    int at = row_parameter::id;
    for (const row_value& value : q_.row->values) {
      if (const auto* text = std::get_if<std::string>(&value)) {
        s.bind_text(at++, *text);
      } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        s.bind(at++, *number);
      } else {
        s.bind(at++, std::get<std::uint64_t>(value));
      }
    }
  }

 private:
  void bind_times(sqlite_statement& s, microseconds at) {
    const microseconds end = at + q_.ttl;
    if (column_) {
      now_text_ = row_time::text(at, false);
      end_text_ = row_time::text(end, true);
      s.bind_text(row_parameter::now, now_text_);
      s.bind_text(row_parameter::expiry, end_text_);
      return;
    }
    s.bind(row_parameter::now, std::int64_t{at.count()});
    s.bind(row_parameter::horizon, std::int64_t{(at + row_horizon).count()});
    if (q_.kind != lease_kind::session || q_.action == verb::extend) {
      s.bind(row_parameter::expiry, std::int64_t{end.count()});
    } else {
      s.bind_null(row_parameter::expiry);
    }
  }

  const request& q_;
  std::uint64_t fence_;  // take_over: that was seen
  id128 seen_session_{};
  const bool column_;
  const lease_file& file_;
  std::string owner_{}, verified_owner_{}, seen_owner_{}, seen_verified_owner_{}, now_text_{}, end_text_{};
};

/// Fills in what became of the session that the row names.
int look_at_session(lease_connection& on, sqlite_turn& turn, seen& now) {
  bool found = false;
  std::int64_t asked = 0;
  const auto bind = [&](sqlite_statement& s, std::int64_t at) {
    found = false;
    asked = at;
    s.bind_id(2, now.holder);
  };
  const auto row = [&](const sqlite_statement& s) {
    found = true;
    now.who = fmt::format("{}/{}", s.text(1), s.integer(2));
    if (!s.text(3).empty()) now.who.append(" ").append(s.text(3));
    if (now.kind != lease_kind::session) return;
    now.left = microseconds{std::max<std::int64_t>(0, s.integer(0) - asked)};
    now.expired = s.integer(0) <= asked;
  };
  const int code = on.run(hot::look_session, turn, bind, row);
  if (code == SQLITE_DONE && !found && now.kind == lease_kind::session) now.gone = now.expired = true;
  return code;
}

/// Session and row are read one after the other: a take-over looks at both again, in one statement.
reply look(lease_connection& on, sqlite_turn& turn, const request& q, row_values& values,
           sqlite_row_statements::one& prepared) {
  reply made{.result = outcome::absent};
  microseconds asked{0};
  std::optional<microseconds> end;
  std::string owner;
  const auto bind = [&](sqlite_statement& s, std::int64_t boot_time) {
    made.result = outcome::absent;
    owner.clear();
    asked = values.now(boot_time);
    values(s, boot_time);
  };
  const auto row = [&](const sqlite_statement& s) {
    made.result = outcome::yes;
    owner = s.text(0);
    made.holder.fence = static_cast<std::uint64_t>(s.integer(1));
    end.reset();
    if (!s.is_null(2)) end = microseconds{s.integer(2)};
  };
  int code = on.run(prepared.statement, prepared.sql, turn, bind, row);
  if (code != SQLITE_DONE) return on.refused(code, false);
  if (owner.empty()) return made;
  const auto ours = sql::row_owner::parse(owner);
  made.holder.kind = end ? sql::kind_of_expiry(*q.row->table) : lease_kind::session;
  made.holder.left = no_end;
  if (end) {
    const bool too_far = q.row->table->renewal == row_renewal::session && *end > asked + row_horizon;
    made.holder.expired = *end <= asked || too_far;
    made.holder.left = made.holder.expired ? microseconds{0} : *end - asked;
  }
  made.holder.holder = ours ? ours->session : sql::foreign_owner;
  if (!ours) {
    made.holder.who = std::move(owner);
    return made;
  }
  made.holder.nonce = ours->nonce;
  code = look_at_session(on, turn, made.holder);
  return code == SQLITE_DONE ? made : on.refused(code, false);
}

}  // namespace

sqlite_row_statements::one& sqlite_row_statements::of(const std::shared_ptr<const row_table>& table, row_hot what,
                                                      const sql::table_names& names) {
  auto& all = used_last_first_;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.table == table; });
  if (found != all.end()) {
    all.splice(all.begin(), all, found);
  } else {
    if (all.size() == most_tables) all.pop_back();
    all.emplace_front().table = table;
  }
  one& made = all.front().statements[static_cast<std::size_t>(what)];
  if (made.sql.empty()) made.sql = row_sql(what, *table, names);
  return made;
}

reply run_row(lease_connection& on, sqlite_turn& turn, const request& q) {
  if (q.action == verb::insert) return {.result = outcome::absent};  // making rows is the application's business
  const bool needs_ttl = q.action == verb::take || q.action == verb::take_over || q.action == verb::extend;
  if (needs_ttl && q.ttl.count() == 0 && q.row->table->renewal == row_renewal::column) {
    return {.why = {.text = fmt::format("table {}: row_renewal::column needs a ttl", q.row->table->table)}};
  }
  row_values values(q, on.file());
  auto& prepared = on.rows().of(q.row->table, statement_for(q), on.file().names);
  if (q.action == verb::look) return look(on, turn, q, values, prepared);
  if (q.action == verb::take || q.action == verb::take_over) {
    reply made{.result = outcome::no};
    // The row is shown before the change is committed: it counts only after SQLITE_DONE.
    const auto row = [&made](const sqlite_statement& s) {
      made = {.result = outcome::yes, .fence = static_cast<std::uint64_t>(s.integer(0))};
    };
    const auto bind = [&](sqlite_statement& s, std::int64_t boot_time) {
      made = {.result = outcome::no};
      values(s, boot_time);
    };
    const int code = on.run(prepared.statement, prepared.sql, turn, bind, row);
    return code == SQLITE_DONE ? made : on.refused(code, true);
  }
  const int code = on.run(prepared.statement, prepared.sql, turn, values, no_rows);
  if (code != SQLITE_DONE) return on.refused(code, true);
  return {.result = on.changed() ? outcome::yes : outcome::no};
}

}  // namespace dlock::stores::sqlite::lease_table
