// SPDX-License-Identifier: BSL-1.0

/// The verbs on lock and session rows: each one prepared statement.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/rows.hpp"
#include "stores/mysql/lease_table/store.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

void fill(lease_values& to, const request& from) noexcept {
  to.key.assign(from.resource);
  to.session.assign(bytes_of(from.session));
  to.nonce = from.nonce;
  to.fence = from.fence;
  to.own_ttl = from.ttl.count();
  to.no_own_ttl = from.kind == lease_kind::session && from.action != verb::extend;
  to.min_hold = from.min_hold.count();
  if (from.expected == nullptr) return;
  to.holder.assign(bytes_of(from.expected->holder));
  to.seen_fence = from.expected->fence;
}

/// Of a grant: a trigger keeps LAST_INSERT_ID from telling its fence.
[[gnu::cold]] void read_fence(lease_connection& on, const lease_sql& statements, const request& asked, reply& answer) {
  tell_fence(
      on,
      [&] {
        return sql::write_values(statements.text(text_id::granted_fence), {{"key", mysql_literal(asked.resource)},
                                                                           {"session", mysql_literal(asked.session)},
                                                                           {"nonce", std::to_string(asked.nonce)}});
      },
      answer);
}

/// LAST_INSERT_ID's value means something only if the condition held.
void complete_grant(lease_connection& on, const lease_sql& statements, const request& asked, reply& answer) {
  if (answer.result == outcome::yes && answer.fence == 0) read_fence(on, statements, asked, answer);
}

reply granted(lease_connection& on, const lease_sql& statements, statement_id which, const request& asked) {
  reply answer = on.change(which, false, asked.if_locked);
  complete_grant(on, statements, asked, answer);
  return answer;
}

/// What a "no" becomes for a user who may write in spite of read_only: the answer that all others get from the server
/// (1290).
[[gnu::cold]] void refuse_if_demoted(lease_connection& on, reply& answer) {
  mysql_rows rows;
  fault why;
  ++answer.statements;
  if (on.query("SELECT CONCAT(@@global.read_only) IN ('0', 'OFF')", "read_only", &rows, nullptr, why) != outcome::yes ||
      rows.empty() || rows.at(0).at(0).value_or("1") != "0") {
    return;
  }
  constexpr unsigned read_only = 1290;
  answer.result = outcome::failed;
  answer.why =
      make_mysql_fault(read_only, "HY000", "read_only is on: this server is a replica or takes no writes", "lock");
  on.note_error(answer.why);
}

/// A take that follows a poll should have been granted: its "no" may come of that.
void check_take(lease_connection& on, const request& asked, reply& answer) {
  if (answer.result == outcome::no && asked.polled) refuse_if_demoted(on, answer);
}

reply take(lease_connection& on, const lease_sql& statements, const request& asked) {
  reply answer = granted(on, statements, statement_id::take, asked);
  check_take(on, asked, answer);
  return answer;
}

reply insert(lease_connection& on, const lease_sql& statements, const request& asked) {
  reply answer = granted(on, statements, statement_id::insert, asked);
  if (answer.result != outcome::no) return unless_there(std::move(answer));
  return refuse(fmt::format("insert: table {} has no row with id 1: open the store with schema=create to repair it",
                            statements.names().table("floor")));
}

reply execute_one(lease_connection& on, const lease_sql& statements, const mysql_row_sql& rows, const request& asked) {
  if (asked.row != nullptr) return execute_on_row(on, rows, asked);
  fill(on.values(), asked);
  switch (asked.action) {
    case verb::take: return take(on, statements, asked);
    case verb::insert: return insert(on, statements, asked);
    case verb::poll: return on.poll();
    case verb::take_over: return granted(on, statements, statement_id::take_over, asked);
    case verb::extend: return on.change(statement_id::extend, true, asked.if_locked);
    case verb::release: {
      const bool later = asked.min_hold.count() > 0;
      return on.change(later ? statement_id::release_min_hold : statement_id::release, true, asked.if_locked);
    }
    case verb::cancel: return on.change(statement_id::cancel, true, asked.if_locked);
    case verb::pass_on: return granted(on, statements, statement_id::pass_on, asked);
  }
  return refuse("no such verb");
}

[[gnu::cold]] reply refuse_key(std::size_t size) {
  return refuse(fmt::format("a key of {} bytes: 1 to 255 are possible", size));
}

reply ask_for_row(lease_connection& on, const lease_sql& statements, const mysql_row_sql& rows, const request& asked) {
  const auto text = asked.row != nullptr ? rows.ask(*asked.row)
                                         : sql::write_values(statements.text(text_id::ask_for_row),
                                                             {{"key", mysql_literal(asked.resource)}});
  auto answer = on.read(text, "ask for a row");
  if (answer.result == outcome::unknown) answer.result = outcome::failed;  // a read: nothing of it can be done later
  return answer;
}

}  // namespace

reply mysql_store::in_order(native& with, const request& asked) {
  auto answer = asked.action == verb::poll ? poll_in_order(with, asked) : take_in_order(with, asked);
  if (answer.result != outcome::failed || !tables_.waiters.bells().note_unreadable(answer.why)) return answer;
  const auto before = answer.statements;
  answer = execute_one(with, tables_.sql, tables_.row_sql, asked);
  answer.statements += before;
  return answer;
}

reply mysql_store::take_in_order(native& with, const request& asked) {
  fill(with.values(), asked);
  const auto text = with.written_out(asked.action == verb::take ? statement_id::take : statement_id::take_over) + " " +
                    sql::write_values(tables_.sql.text(text_id::after_others),
                                      {{"key", mysql_literal(asked.resource)},
                                       {"bell", mysql_literal(tables_.waiters.bells().own())},
                                       {"registered", asked.registered ? "1" : "0"}});
  auto answer = with.change(text, "take in order");
  complete_grant(with, tables_.sql, asked, answer);
  check_take(with, asked, answer);
  return answer;
}

/// Who is to have the key first matters only if somebody can have it.
reply mysql_store::poll_in_order(native& with, const request& asked) {
  auto answer = execute_one(with, tables_.sql, tables_.row_sql, asked);
  const auto& holder = answer.holder;
  if (answer.result != outcome::yes || (holder.holder && !holder.gone && !holder.expired)) return answer;
  const auto text = sql::write_values(tables_.sql.text(text_id::others_first),
                                      {{"key", mysql_literal(asked.resource)},
                                       {"bell", mysql_literal(tables_.waiters.bells().own())},
                                       {"registered", asked.registered ? "1" : "0"}});
  mysql_rows rows;
  auto others = with.read(text, "look for waiters", &rows);
  others.statements += answer.statements;
  if (others.result != outcome::yes) {
    others.result = outcome::failed;  // a read: nothing of it can be done later
    return others;
  }
  answer.statements = others.statements;
  answer.holder.others_first = !rows.empty();
  if (rows.empty()) return answer;
  // Whatever freed the key may have woken nobody.
  if (const auto sleeper = unsigned_of(rows.at(0).at(0)); sleeper != 0) {
    ++answer.statements;
    tables_.waiters.bells().ring(with, sleeper);
  }
  return answer;
}

reply mysql_store::release_and_wake(native& with, const request& asked) {
  const auto key = mysql_literal(asked.resource), bell = mysql_literal(tables_.waiters.bells().own());
  const auto text =
      asked.row != nullptr
          ? tables_.row_sql.change(asked) + " AND " +
                sql::write_values(tables_.sql.text(text_id::find_waiter), {{"key", key}, {"bell", bell}})
          : sql::write_values(tables_.sql.text(text_id::release_and_wake), {{"key", key},
                                                                            {"session", mysql_literal(asked.session)},
                                                                            {"fence", std::to_string(asked.fence)},
                                                                            {"bell", bell}});
  auto answer = with.change(std::string(with.prefix_for(asked)) + text, "release");
  if (answer.result == outcome::failed && tables_.waiters.bells().note_unreadable(answer.why)) {
    answer = execute_one(with, tables_.sql, tables_.row_sql, asked);
    ++answer.statements;
    return answer;
  }
  if (answer.result != outcome::yes) return answer;
  // MySQL tells the waiter also where the row is not ours.
  if (const auto sleeper = std::exchange(answer.fence, 0); sleeper != 0) {
    ++answer.statements;
    if (tables_.waiters.bells().ring(with, sleeper)) answer.waiters = 1;
  }
  return answer;
}

void mysql_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  execute_all(static_cast<native&>(on), requests, replies);
  if (tables_.settings.wake) tables_.waiters.note_done(requests, replies);
}

void mysql_store::execute_all(native& with, std::span<const request> requests, std::span<reply> replies) noexcept {
  const bool rows =
      std::any_of(requests.begin(), requests.end(), [](const request& each) { return each.row != nullptr; });
  if (rows && !tables_.row_sql.tables().known()) {
    const auto read = reply_or_in_doubt(with, "lock", [&] { return tables_.read_id(with); });
    if (read.result != outcome::yes) return std::fill(replies.begin(), replies.end(), read);
  }
  unsigned statements = 0;  // before the one that does it
  if (requests.size() > 1 && one_statement_can(requests)) {
    if (execute_in_one(with, tables_.sql, tables_.row_sql, requests, replies, tables_.client.can_skip_locked())) {
      tables_.waiters.bells().ring_first(with, requests, replies);
      return;
    }
    statements = replies.front().statements;
  }
  for (std::size_t i = 0; i != requests.size(); ++i) {
    const auto& asked = requests[i];
    replies[i] = reply_or_in_doubt(with, "lock", [&] {
      if (asked.row == nullptr && (asked.resource.empty() || asked.resource.size() > with.values().key.bytes.size())) {
        return refuse_key(asked.resource.size());
      }
      if (with.asks_first(asked)) {
        auto said = ask_for_row(with, tables_.sql, tables_.row_sql, asked);
        if (said.result != outcome::yes) return said;
        ++statements;
      }
      if (asked.action == verb::release && tables_.waiters.bells().looks(with, asked))
        return release_and_wake(with, asked);
      if (asked.in_order && tables_.knows_waiters(with)) return in_order(with, asked);
      return execute_one(with, tables_.sql, tables_.row_sql, asked);
    });
    if (asked.action == verb::cancel)
      tables_.waiters.bells().ring_first(with, requests.subspan(i, 1), replies.subspan(i, 1));
    replies[i].statements += std::exchange(statements, 0);
  }
}

reply mysql_store::session(connection& on, session_verb action, const session_record& of) noexcept {
  return work_on<lease_connection>(on, "session", [&](auto& with) {
    auto& values = with.values();
    values.session.assign(bytes_of(of.id));
    values.ttl = of.ttl.count();
    switch (action) {
      case session_verb::open:
        // What follows may be a claim of rows, in a transaction of the application's. If this fails, the claim says
        // why.
        static_cast<void>(tables_.read_id(with));
        values.host.assign(clip_utf8(of.host, 255));
        values.pid = of.pid;
        values.label.assign(clip_utf8(of.label, 64));
        return unless_there(with.change(statement_id::session_open, true));
      case session_verb::renew: {
        reply answer = with.change(statement_id::session_renew, true);
        if (answer.result == outcome::no) refuse_if_demoted(with, answer);
        return answer;
      }
      case session_verb::remove_expired: return with.change(statement_id::session_remove_expired, true);
      case session_verb::close: return with.change(statement_id::session_close, true);
    }
    return refuse("no such session verb");
  });
}

}  // namespace dlock::stores::mysql::lease_table
