// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/connection.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "stores/mysql/client/text.hpp"
#include "stores/sql/polled.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

mysql_field field_of(parameter which, lease_values& from) {
  switch (which) {
    case parameter::key: return mysql_field::bytes(from.key);
    case parameter::session: return mysql_field::bytes(from.session);
    case parameter::holder: return mysql_field::bytes(from.holder);
    case parameter::nonce: return mysql_field::number(from.nonce);
    case parameter::fence: return mysql_field::number(from.fence);
    case parameter::seen_fence: return mysql_field::number(from.seen_fence);
    case parameter::own_ttl: return mysql_field::number_or_null(from.own_ttl, from.no_own_ttl);
    case parameter::min_hold: return mysql_field::number(from.min_hold);
    case parameter::ttl: return mysql_field::number(from.ttl);
    case parameter::pid: return mysql_field::number(from.pid);
    case parameter::host: return mysql_field::text(from.host);
    case parameter::label: return mysql_field::text(from.label);
    case parameter::count: return mysql_field::number(from.count);
    case parameter::wake_id: return mysql_field::bytes(from.wake_id);
    default: break;
  }
  throw std::logic_error("dlock: no such parameter");
}

}  // namespace

seen mysql_poll_row::shown() const {
  return sql::holder_of({.holder = id_of(holder.view()),
                         .fence = fence,
                         .kept = kept != 0,
                         .gone = gone != 0,
                         .remaining = remaining_us,
                         .host = host.view(),
                         .pid = pid,
                         .label = label.view(),
                         .nonce = nonce});
}

seen mysql_polled_row::shown(const row_table& table, sql::tables_id tables) const {
  auto now = sql::holder_of({.owner = owner.view(),
                             .fence = fence,
                             .kept = kept != 0,
                             .gone = gone != 0,
                             .remaining = remaining_us,
                             .host = host.view(),
                             .pid = pid,
                             .label = label.view()},
                            table, tables);
  if (now.holder == sql::foreign_owner) now.who = clip_utf8(now.who, 255);
  return now;
}

void lease_values::assign(const sql::statement_values& from) noexcept {
  key.assign(from.key);
  session.assign(bytes_of(from.session));
  holder.assign(bytes_of(from.holder));
  nonce = from.nonce;
  fence = from.fence;
  seen_fence = from.seen_fence;
  own_ttl = from.own_ttl;
  no_own_ttl = from.no_own_ttl;
  min_hold = from.min_hold;
  count = from.count;
  ttl = from.ttl;
  pid = from.pid;
  host.assign(from.host);
  label.assign(from.label);
  wake_id.assign(bytes_of(from.wake_id));
}

mysql_statement make_statement(const sql::statement_text& text, lease_values& values) {
  std::vector<mysql_field> fields;
  fields.reserve(text.parameters.size());
  for (const auto number : text.parameters) fields.push_back(field_of(static_cast<parameter>(number), values));
  return {text.sql, text.name, std::move(fields)};
}

lease_connection::lease_connection(mysql_opened from, const lease_sql& sql, const mysql_row_sql& rows,
                                   mysql_hosts& hosts)
    : mysql_connection(std::move(from), hosts),
      sql_(sql),
      release_and_wake_(make_statement(sql.release_and_wake(!quick_prefix().empty()), values_)),
      row_sql_(rows) {
  release_and_wake_.fail_without_table();  // the table of waiters may be missing
  statements_.reserve(statement_count);
  for (std::size_t i = 0; i != statement_count; ++i) {
    const bool quick = !quick_prefix().empty();
    statements_.push_back(make_statement(sql.statement(static_cast<statement_id>(i), quick), values_));
  }
}

/// Explains a missing lock table: the service did not check at its start, or the table was dropped since. The error's
/// number does not name the table, which may be one of the application's.
void lease_connection::explain(fault& why) {
  constexpr auto no_such_table = static_cast<int>(mysql_no_such_table);
  if (why.native != no_such_table) return;
  fault lacks;
  query(sql_.names().expand("SELECT 1 FROM {lock}, {session}, {floor} WHERE 1=0"), "look for the lock tables", nullptr,
        nullptr, lacks);
  if (lacks.native == no_such_table) why.text += ": open the store once with schema=create to make the lock tables";
}

template <class Use>
auto lease_connection::with_statement(sql::row_statement which, const sql::statement_values& values, Use&& use) {
  const auto& row = *values.row;
  const auto with_values = [&](prepared_row& prepared) {
    set_fields(fields_, prepared.text, values);
    prepared.statement.parameters(fields_);
    return use(prepared.statement);
  };
  const auto in_time = [&](sql::statement_text text) {
    // A statement that must not wait gets the prefix, as for keys.
    if (which != sql::row_statement::poll) text.sql.insert(0, quick_prefix());
    return text;
  };
  if (can_be_bound(row)) {
    return with_values(rows_.of(row.table, which, [&] { return in_time(row_sql_.prepared(which, *row.table)); }));
  }
  prepared_row once(in_time(row_sql_.with_id(which, row)));
  once.statement.send_as_text();
  return with_values(once);
}

reply lease_connection::change(statement_id which, const sql::statement_values& values, sql::sending how) {
  values_.assign(values);
  return change(statement(which), how.ours, how.if_locked);
}

reply lease_connection::change(sql::row_statement which, const sql::statement_values& values, sql::sending how) {
  return with_statement(which, values,
                        [&](mysql_statement& statement) { return change(statement, how.ours, how.if_locked); });
}

reply lease_connection::release_and_wake(const request& asked, const id128& own) {
  const sql::request_values of_request(asked, tables());
  sql::statement_values values = of_request;
  values.wake_id = own;
  if (asked.row != nullptr) return change(sql::row_statement::release_and_wake, values, {.if_locked = asked.if_locked});
  values_.assign(values);
  return change(release_and_wake_, false, asked.if_locked);
}

reply lease_connection::poll(const sql::statement_values& values) {
  if (values.row != nullptr) return poll_row(values);
  values_.assign(values);
  reply answer;
  mysql_poll_row row;
  const auto fields = row.fields();
  answer.result = fetch(statement(statement_id::poll), fields, answer.why);
  if (answer.result == outcome::yes) answer.holder = row.shown();
  return answer;
}

reply lease_connection::poll_row(const sql::statement_values& values) {
  reply answer;
  mysql_polled_row row;
  const auto fields = row.fields();
  answer.result = with_statement(sql::row_statement::poll, values,
                                 [&](mysql_statement& statement) { return fetch(statement, fields, answer.why); });
  if (answer.result == outcome::yes) answer.holder = row.shown(*values.row->table, tables());
  return answer;
}

std::string lease_connection::written_out(statement_id which, const sql::statement_values& values) {
  values_.assign(values);
  return statement(which).written_out();
}

/// For tables with a trigger, which hides LAST_INSERT_ID.
[[gnu::cold]] void lease_connection::read_fence(const request& asked, reply& grant) {
  tell_fence(
      *this,
      [&] {
        if (asked.row != nullptr) return row_sql_.fence_of(asked);
        return sql::write_values(sql_.text(text_id::granted_fence), {{"key", mysql_literal(asked.resource)},
                                                                     {"session", mysql_literal(asked.session)},
                                                                     {"nonce", std::to_string(asked.nonce)}});
      },
      grant);
}

/// For a user who may write in spite of read_only: other users get error 1290 from the server.
[[gnu::cold]] void lease_connection::doubt(reply& no) {
  mysql_rows rows;
  fault why;
  ++no.statements;
  if (query("SELECT CONCAT(@@global.read_only) IN ('0', 'OFF')", "read_only", &rows, nullptr, why) != outcome::yes ||
      rows.empty() || rows.at(0).at(0).value_or("1") != "0") {
    return;
  }
  constexpr unsigned read_only = 1290;
  no.result = outcome::failed;
  no.why = make_mysql_fault(read_only, "HY000", "read_only is on: this server is a replica or takes no writes", "lock");
  note_error(no.why);
}

bool lease_connection::fits(const std::string& text) {
  constexpr std::size_t always = 8192, beside = 64;
  if (text.size() < always) return true;
  if (largest_text_ == 0) {
    mysql_rows rows;
    fault why;
    if (query("SELECT @@max_allowed_packet", "reading max_allowed_packet", &rows, nullptr, why) != outcome::yes)
      return true;
    largest_text_ = unsigned_of(rows.at(0).at(0));
  }
  return text.size() + beside <= largest_text_;
}

bool lease_connection::prepare_all(fault& why) {
  return std::all_of(statements_.begin(), statements_.end(), [&](auto& each) { return prepare(each, why); });
}

}  // namespace dlock::stores::mysql::lease_table
