// SPDX-License-Identifier: GPL-2.0-or-later

/// The verbs on lock and session rows: each one prepared statement.

#include <fmt/format.h>

#include <algorithm>

#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

constexpr auto no_rows = [](const sqlite_statement&) {};

hot statement_for(const request& q) noexcept {
  switch (q.action) {
    case verb::take: return hot::take;
    case verb::insert: return hot::insert;
    case verb::look: return hot::look;
    case verb::take_over: return q.expected->kind == lease_kind::session ? hot::take_over_kept : hot::take_over_own;
    case verb::extend: return hot::extend;
    case verb::release: return q.min_hold.count() > 0 ? hot::release_min_hold : hot::release;
    case verb::cancel: return hot::cancel;
  }
  return hot::look;
}

/// take, insert, take_over: the row comes back with its new fence.
reply grant(lease_connection& on, sqlite_turn& turn, const request& q) {
  std::uint64_t fence = 0;
  const auto bind = [&](sqlite_statement& s, std::int64_t now) {
    fence = 0;  // what an earlier try has shown was not committed
    s.bind(1, now);
    s.bind_blob(2, q.resource);
    s.bind_id(3, q.session);
    s.bind(4, q.nonce);
    if (q.kind != lease_kind::session) {
      s.bind(5, std::int64_t{q.ttl.count()});
    } else {
      s.bind_null(5);
    }
    if (q.action != verb::take_over) return;
    s.bind_id(6, q.expected->holder);
    s.bind(7, q.expected->fence);
  };
  // The row is shown before the change is committed: it counts only after SQLITE_DONE.
  const auto row = [&fence](const sqlite_statement& s) { fence = static_cast<std::uint64_t>(s.integer(0)); };
  const int code = on.run(statement_for(q), turn, bind, row);
  if (code == SQLITE_DONE && fence > 0) return {.result = outcome::yes, .fence = fence};
  if (q.action == verb::insert && code == SQLITE_CONSTRAINT_PRIMARYKEY) return {.result = outcome::no};
  if (q.action == verb::insert && code == SQLITE_DONE) {
    return {.why = {.text = fmt::format("SQLite file '{}': row 1 of table {} is missing; schema=create makes it",
                                        on.file().settings.path, on.file().names.table("floor"))}};
  }
  return code == SQLITE_DONE ? reply{.result = outcome::no} : on.refused(code, true);
}

/// extend, release, cancel: one row changed, or none.
reply change(lease_connection& on, sqlite_turn& turn, const request& q) {
  const auto bind = [&q](sqlite_statement& s, std::int64_t now) {
    s.bind(1, now);
    s.bind_blob(2, q.resource);
    s.bind_id(3, q.session);
    s.bind(4, q.action == verb::cancel ? q.nonce : q.fence);
    if (q.action == verb::extend) s.bind(5, std::int64_t{q.ttl.count()});
    if (q.action == verb::release && q.min_hold.count() > 0) s.bind(5, std::int64_t{q.min_hold.count()});
  };
  const int code = on.run(statement_for(q), turn, bind, no_rows);
  if (code != SQLITE_DONE) return on.refused(code, true);
  return {.result = on.changed() ? outcome::yes : outcome::no};
}

reply look(lease_connection& on, sqlite_turn& turn, const request& q) {
  reply made;
  // Read before the row: a renewal in between can't make a live holder look dead for long, and its removal looks again.
  std::int64_t asked = 0;
  const auto bind = [&](sqlite_statement& s, std::int64_t now) {
    made = {.result = outcome::absent};
    asked = now;
    s.bind_blob(2, q.resource);
  };
  const auto row = [&](const sqlite_statement& s) {
    made.result = outcome::yes;
    made.holder.holder = s.id(0);
    made.holder.fence = static_cast<std::uint64_t>(s.integer(1));
    made.holder.kind = s.is_null(2) ? lease_kind::session : lease_kind::expiring;
    const bool session = !s.is_null(3);
    made.holder.gone = s.is_null(2) && !session;
    const std::int64_t end = made.holder.gone ? asked : s.integer(s.is_null(2) ? 3 : 2);
    made.holder.left = microseconds{std::max<std::int64_t>(0, end - asked)};
    made.holder.expired = end <= asked;
    if (!session) return;
    made.holder.who = fmt::format("{}/{}", s.text(4), s.integer(5));
    if (!s.text(6).empty()) made.holder.who.append(" ").append(s.text(6));
  };
  const int code = on.run(hot::look, turn, bind, row);
  return code == SQLITE_DONE ? made : on.refused(code, false);
}

reply run_one(lease_connection& on, sqlite_turn& turn, const request& q) {
  if (q.row != nullptr) return run_row(on, turn, q);
  switch (q.action) {
    case verb::take:
    case verb::insert:
    case verb::take_over: return grant(on, turn, q);
    case verb::extend:
    case verb::release:
    case verb::cancel: return change(on, turn, q);
    case verb::look: return look(on, turn, q);
  }
  return {};
}

/// Several writes cost one commit. The answers count only once that is done.
void run_batch(lease_connection& on, sqlite_turn& turn, std::span<const request> requests, std::span<reply> replies) {
  reply failed;
  const bool done = on.transact(turn, failed, [&] {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      replies[i] = run_one(on, turn, requests[i]);
      if (replies[i].result != outcome::failed && replies[i].result != outcome::unknown) continue;
      // A statement of a transaction that is rolled back did certainly nothing.
      failed = {.result = outcome::failed, .why = std::move(replies[i].why)};
      return false;
    }
    return true;
  });
  if (!done) std::fill(replies.begin(), replies.end(), failed);
}

/// The row goes, the time that it told stays. The change of the one counts only with the other.
reply close_session(lease_connection& on, sqlite_turn& turn, const id128& id) {
  reply answer;
  const auto now_only = [](sqlite_statement& s, std::int64_t now) { s.bind(1, now); };
  const auto id_only = [&id](sqlite_statement& s, std::int64_t) { s.bind_id(2, id); };
  on.transact(turn, answer, [&] {
    int code = on.run(hot::latest, turn, now_only, no_rows);
    if (code == SQLITE_DONE) code = on.run(hot::session_close, turn, id_only, no_rows);
    answer = code == SQLITE_DONE ? reply{.result = on.changed() ? outcome::yes : outcome::no} : on.refused(code, true);
    return code == SQLITE_DONE;
  });
  return answer;
}

}  // namespace

void sqlite_store::execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept
    try {
  auto& on = static_cast<lease_connection&>(connection);
  if (const int code = on.check(); code != SQLITE_OK) {
    std::fill(replies.begin(), replies.end(), on.refused(code, false));
    return;
  }
  const bool reads = requests.front().action == verb::look;
  if (fault why; !reads && !caller_may_wait(why)) {
    std::fill(replies.begin(), replies.end(), reply{.why = why});
    return;
  }
  sqlite_turn turn(on, reads ? lane::read : lane::write, file_->settings.statement_timeout());
  if (requests.size() > 1 && !reads) return run_batch(on, turn, requests, replies);
  for (std::size_t i = 0; i < requests.size(); ++i) replies[i] = run_one(on, turn, requests[i]);
} catch (...) {
  for (reply& r : replies) r = out_of_memory();
}

reply sqlite_store::session(connection& connection, session_verb action, const session_record& of) noexcept try {
  auto& on = static_cast<lease_connection&>(connection);
  if (const int code = on.check(); code != SQLITE_OK) return on.refused(code, false);
  if (fault why; !caller_may_wait(why)) return {.why = std::move(why)};
  const bool renews = action == session_verb::renew;
  const auto& settings = file_->settings;
  sqlite_turn turn(on, renews ? lane::renewal : lane::write,
                   renews ? settings.busy_timeout : settings.statement_timeout());
  if (action == session_verb::close) return close_session(on, turn, of.id);
  const auto bind = [&](sqlite_statement& s, std::int64_t now) {
    s.bind_id(2, of.id);
    s.bind(1, now);
    if (action == session_verb::remove_expired) return;
    s.bind(3, std::int64_t{of.ttl.count()});
    if (action == session_verb::renew) return;
    s.bind_text(4, of.host);
    s.bind(5, of.pid);
    s.bind_text(6, of.label);
    s.bind_text(7, file_->boot);
  };
  constexpr hot statements[] = {hot::session_open, hot::session_renew, hot::session_remove_expired};
  const int code = on.run(statements[static_cast<std::size_t>(action)], turn, bind, no_rows);
  if (code == SQLITE_CONSTRAINT_PRIMARYKEY) return {.result = outcome::no};  // opened before
  if (code != SQLITE_DONE) return on.refused(code, true);
  return {.result = on.changed() ? outcome::yes : outcome::no};
} catch (...) {
  return out_of_memory();
}

}  // namespace dlock::stores::sqlite::lease_table
