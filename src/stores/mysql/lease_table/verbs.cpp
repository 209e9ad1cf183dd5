// SPDX-License-Identifier: BSL-1.0

/// The verbs on lock and session rows: each one prepared statement.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/batch.hpp"
#include "stores/mysql/lease_table/store.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

reply ask_for_row(lease_connection& on, const lease_sql& statements, const mysql_row_sql& rows, const request& asked) {
  const auto text = asked.row != nullptr ? rows.ask(*asked.row)
                                         : sql::write_values(statements.text(text_id::ask_for_row),
                                                             {{"key", mysql_literal(asked.resource)}});
  auto answer = on.read(text, "check a row's lock");
  if (answer.result == outcome::unknown) answer.result = outcome::failed;  // a read: nothing of it can be done later
  return answer;
}

}  // namespace

reply mysql_store::in_order(native& with, const request& asked) {
  auto answer = asked.action == verb::poll ? poll_in_order(with, asked) : take_in_order(with, asked);
  if (answer.result != outcome::failed || !tables_.waiters.table().note_unreadable(with, answer.why)) return answer;
  const auto before = answer.statements;
  answer = sql::execute(with, asked);
  answer.statements += before;
  return answer;
}

reply mysql_store::take_in_order(native& with, const request& asked) {
  const sql::request_values values(asked, tables_.row_sql.tables());
  const auto text = with.written_out(sql::statement_of(asked), values) + " " +
                    sql::write_values(tables_.sql.text(text_id::after_others),
                                      {{"key", mysql_literal(asked.resource)},
                                       {"wake_id", mysql_literal(tables_.waiters.table().own())},
                                       {"registered", asked.registered ? "1" : "0"}});
  return sql::check_grant(with, asked, with.change(text, "take in order"));
}

/// The order matters only if somebody can get the key.
reply mysql_store::poll_in_order(native& with, const request& asked) {
  auto answer = sql::execute(with, asked);
  const auto& holder = answer.holder;
  if (answer.result != outcome::yes || (holder.holder && !holder.gone && !holder.expired)) return answer;
  auto others = tables_.waiters.table().others_first(with, asked.resource, holder.fence, asked.registered,
                                                     answer.holder.others_first);
  others.statements += answer.statements;
  if (others.result != outcome::yes) return others;
  answer.statements = others.statements;
  return answer;
}

reply mysql_store::release_and_wake(native& with, const request& asked) {
  auto answer = with.release_and_wake(asked, tables_.waiters.table().own());
  if (tables_.waiters.table().keeps_failing(with, answer)) {
    answer = sql::execute(with, asked);
    ++answer.statements;
    return answer;
  }
  if (answer.result != outcome::yes) return answer;
  // MySQL returns a waiter even if the row is not ours.
  const auto sleeper = std::exchange(answer.fence, 0);
  if (sleeper == 0) {
    tables_.waiters.table().wake_first(with, {&asked, 1}, {&answer, 1});
  } else if (sleeper != no_waiter) {
    ++answer.statements;
    if (tables_.waiters.table().wake(with, sleeper)) answer.waiters = 1;
  }
  return answer;
}

/// A failover may lead to a cluster, which a service at its start would refuse: lease_tables::shares().
reply mysql_store::execute_shared(native& with, const request& asked) {
  if (!with.sync_prefix().empty())
    return refuse("shared locks and permits (lock_options::mode) don't work on a Galera cluster");
  auto& shared = tables_.shared;
  if (!wakes_for_members(with)) return shared.execute(with, asked);
  if (asked.action == verb::release || asked.action == verb::cancel) return leave_and_wake(with, asked);
  auto answer = shared.execute(with, asked);
  // A caller that had to wait was woken, as a rule, and passes that on: there may be room for others, too.
  const bool wakes = asked.action == verb::open || (asked.units != 0 && asked.wake);
  if (wakes && answer.result == outcome::yes) {
    tables_.member_waiters.wake_next(with, tables_.waiters.table(), asked.resource, answer);
    answer.waiters = 0;
  }
  return answer;
}

bool mysql_store::wakes_for_members(native& with) {
  auto& table = tables_.waiters.table();
  return table.can_read(with) && table.can_wake(with);
}

/// One statement if no process waits, and two if one does, as last time. A DELETE can't return a number, but it can
/// depend on there being no waiter, or leave the number to the KILL.
reply mysql_store::leave_and_wake(native& with, const request& asked) {
  auto& table = tables_.waiters.table();
  auto& waiters = tables_.member_waiters;
  const auto expected = waiters.expects(asked.resource);
  unsigned before = 0;
  if (expected == found_waiter::none) {
    const auto said = tables_.shared.leave_if_nobody_waits(with, asked, table.own());
    before = said.statements;
    if (said.result != outcome::no && !table.keeps_failing(with, said)) return said;
  }
  reply answer{.statements = 0};
  bool left = false;
  if (expected == found_waiter::of_open_key) {
    answer = tables_.shared.leave_and_find(with, asked, table.own());
    left = !table.keeps_failing(with, answer);
    if (left && answer.result == outcome::yes) {
      ++answer.statements;
      if (table.wake_found(with)) {
        answer.waiters = 1;
        return answer;
      }
    }
  }
  if (!left) {
    before += answer.statements;
    answer = tables_.shared.execute(with, asked);
  }
  answer.statements += before;
  if (answer.result == outcome::yes && table.can_read(with))
    waiters.expect(asked.resource, waiters.wake_next(with, table, asked.resource, answer));
  return answer;
}

void mysql_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  auto& with = static_cast<native&>(on);
  if (requests.size() == 1 && requests[0].action != verb::poll && sql::shared_keys::concerns(requests[0])) {
    replies[0] = reply_or_in_doubt(with, "lock", [&] { return execute_shared(with, requests[0]); });
    if (tables_.settings.wake) tables_.waiters.note_shared(requests[0], replies[0]);
    return;
  }
  execute_all(with, requests, replies);
  if (tables_.settings.wake) {
    if (requests.front().action == verb::poll) tables_.waiters.table().ring(with, requests, replies);
    tables_.waiters.note_done(requests, replies);
  }
  for (std::size_t i = 0; i != requests.size(); ++i) {
    if (requests[i].action != verb::poll || !sql::shared_keys::is_shared(replies[i].holder.holder)) continue;
    const auto looked = reply_or_in_doubt(with, "lock", [&] {
      tables_.shared.look(with, requests[i], replies[i]);
      return reply{.result = outcome::yes};
    });
    if (looked.result != outcome::yes) replies[i] = looked;
    const auto& seen = replies[i].holder;
    if (requests[i].units != 0 && requests[i].registered && seen.shared == membership::open && seen.holder &&
        wakes_for_members(with))
      tables_.member_waiters.wake_behind(with, tables_.waiters.table(), requests[i].resource, replies[i]);
  }
}

void mysql_store::execute_all(native& with, std::span<const request> requests, std::span<reply> replies) noexcept {
  const bool rows =
      std::any_of(requests.begin(), requests.end(), [](const request& each) { return each.row != nullptr; });
  if (rows && !tables_.row_sql.tables().known()) {
    const auto read = reply_or_in_doubt(with, "lock", [&] { return tables_.read_id(with); });
    if (read.result != outcome::yes) return std::fill(replies.begin(), replies.end(), read);
  }
  unsigned statements = 0;  // before the one that changes the key
  if (requests.size() > 1 && one_statement_can(requests)) {
    if (execute_in_one(with, tables_.sql, tables_.row_sql, requests, replies, tables_.client.can_skip_locked())) {
      tables_.waiters.table().wake_first(with, requests, replies);
      return;
    }
    statements = replies.front().statements;
  }
  for (std::size_t i = 0; i != requests.size(); ++i) {
    const auto& asked = requests[i];
    replies[i] = reply_or_in_doubt(with, "lock", [&] {
      if (!sql::is_fit(asked)) return sql::execute(with, asked);  // which refuses it with a message
      if (with.asks_first(asked)) {
        auto said = ask_for_row(with, tables_.sql, tables_.row_sql, asked);
        if (said.result != outcome::yes) return said;
        ++statements;
      }
      if (asked.action == verb::release && tables_.waiters.table().looks(with, asked))
        return release_and_wake(with, asked);
      if (asked.in_order && tables_.knows_waiters(with)) return in_order(with, asked);
      return sql::execute(with, asked);
    });
    if (asked.action == verb::cancel)
      tables_.waiters.table().wake_first(with, requests.subspan(i, 1), replies.subspan(i, 1));
    replies[i].statements += std::exchange(statements, 0);
  }
}

reply mysql_store::waited_for(connection& on, std::span<const request> keys, std::span<reply> replies) noexcept {
  auto& with = static_cast<native&>(on);
  auto answer =
      reply_or_in_doubt(with, "find waiters", [&] { return tables_.waiters.table().waited_for(with, keys, replies); });
  if (answer.result == outcome::unknown) answer.result = outcome::failed;  // a read
  tables_.waiters.bell_heard();
  for (std::size_t i = 0; i != keys.size(); ++i) {
    if (tables_.waiters.watches(keys[i].resource)) replies[i].waiters = 1;
  }
  return answer;
}

reply mysql_store::session(connection& on, session_verb action, const session_record& of) noexcept {
  return sql::attempt<lease_connection>(on, "session", [&](auto& with) {
    // The next request may be a claim of rows, in a transaction of the application. If this fails, the claim reports
    // why.
    if (action != session_verb::open) return sql::execute(with, action, of);
    static_cast<void>(tables_.read_id(with));
    const auto host = clip_utf8(of.host, 255), label = clip_utf8(of.label, 64);
    return sql::execute(with, action, {.id = of.id, .ttl = of.ttl, .host = host, .pid = of.pid, .label = label});
  });
}

}  // namespace dlock::stores::mysql::lease_table
