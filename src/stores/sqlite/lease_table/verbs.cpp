// SPDX-License-Identifier: BSL-1.0

/// The verbs on lock and session rows: each one prepared statement.

#include <fmt/format.h>

#include <algorithm>

#include "stores/sql/row_owner.hpp"
#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

statement_values values_of(const request& asked) {
  statement_values values{.key = asked.resource,
                          .session = asked.session,
                          .nonce = asked.nonce,
                          .fence = asked.fence,
                          .own_ttl = asked.ttl.count(),
                          .no_own_ttl = asked.kind == lease_kind::session && asked.action != verb::extend,
                          .min_hold = asked.min_hold.count()};
  if (asked.action == verb::take_over) {
    values.holder = asked.expected->holder;
    values.seen_fence = asked.expected->fence;
  }
  return values;
}

/// take, insert, take_over: the row comes back with its new fence.
reply granted(lease_connection& connection, sqlite_busy_retry& retry, statement_id which, const request& asked) {
  auto values = values_of(asked);
  std::uint64_t fence = 0;
  const auto begin = [&fence] { fence = 0; };  // what an earlier try has shown was not committed
  // The row is shown before the change is committed: it counts only after SQLITE_DONE.
  const auto row = [&fence](const sqlite_statement& s) { fence = static_cast<std::uint64_t>(s.integer(0)); };
  const int code = connection.run(which, retry, values, begin, row);
  if (code == SQLITE_DONE && fence > 0) return {.result = outcome::yes, .fence = fence};
  if (asked.action == verb::insert && code == SQLITE_CONSTRAINT_PRIMARYKEY) return {.result = outcome::no};
  if (asked.action == verb::insert && code == SQLITE_DONE) {
    return {.why = {.text = fmt::format("SQLite file '{}': row 1 of table {} is missing; schema=create makes it",
                                        connection.file().settings.path, connection.file().names.table("floor"))}};
  }
  return code == SQLITE_DONE ? reply{.result = outcome::no} : connection.refused(code, true);
}

/// extend, release, cancel: one row changed, or none.
reply changed(lease_connection& connection, sqlite_busy_retry& retry, statement_id which, const request& asked) {
  auto values = values_of(asked);
  return connection.changed_by(connection.run(which, retry, values));
}

/// The columns of the statement `poll`.
seen seen_of(const sqlite_statement& row, std::int64_t now) {
  seen shown;
  shown.holder = row.id(0);
  shown.fence = static_cast<std::uint64_t>(row.integer(1));
  if (shown.holder) shown.nonce = static_cast<std::uint64_t>(row.integer(7));
  shown.kind = row.is_null(2) ? lease_kind::session : lease_kind::expiring;
  const bool session = !row.is_null(3);
  shown.gone = row.is_null(2) && !session;
  const std::int64_t end = shown.gone ? now : row.integer(row.is_null(2) ? 3 : 2);
  shown.remaining = microseconds{std::max<std::int64_t>(0, end - now)};
  shown.expired = end <= now;
  if (!session) return shown;
  shown.who = sql::describe_holder(row.text(4), row.integer(5), row.text(6));
  return shown;
}

reply poll(lease_connection& connection, sqlite_busy_retry& retry, const request& asked) {
  auto values = values_of(asked);
  reply answer;
  const auto begin = [&] { answer = {.result = outcome::absent}; };
  // The time was read before the row: a renewal in between can't make a live holder look dead for long, and its removal
  // looks again.
  const auto row = [&](const sqlite_statement& s) {
    answer.result = outcome::yes;
    answer.holder = seen_of(s, values.now);
  };
  const int code = connection.run(statement_id::poll, retry, values, begin, row);
  return code == SQLITE_DONE ? answer : connection.refused(code, false);
}

/// One SELECT; each request gets its own answer.
void poll_some(lease_connection& connection, sqlite_busy_retry& retry, std::span<const request> requests,
               std::span<reply> replies) {
  std::int64_t asked = 0;
  const auto bind = [&](sqlite_statement& to, std::int64_t now) {
    asked = now;
    for (auto& each : replies) each = {.result = outcome::absent, .statements = 0};
    for (std::size_t i = 0; i != lease_sql::most_polls; ++i) {
      const int at = static_cast<int>(i) + 1;
      i < requests.size() ? to.bind_blob(at, requests[i].resource) : to.bind_null(at);
    }
  };
  const auto row = [&](const sqlite_statement& s) {
    const auto key = s.bytes(8);
    for (std::size_t i = 0; i != requests.size(); ++i) {
      if (requests[i].resource == key)
        replies[i] = {.result = outcome::yes, .holder = seen_of(s, asked), .statements = 0};
    }
  };
  const int code = connection.poll_all(retry, bind, row);
  if (code != SQLITE_DONE) std::fill(replies.begin(), replies.end(), connection.refused(code, false));
  for (auto& each : replies) each.statements = 0;
  replies.front().statements = 1;
}

void poll_all(lease_connection& connection, sqlite_busy_retry& retry, std::span<const request> requests,
              std::span<reply> replies) {
  for (std::size_t done = 0; done < requests.size(); done += lease_sql::most_polls) {
    const auto some = std::min(requests.size() - done, lease_sql::most_polls);
    poll_some(connection, retry, requests.subspan(done, some), replies.subspan(done, some));
  }
}

reply execute_one(lease_connection& connection, sqlite_busy_retry& retry, const request& asked) {
  if (asked.row != nullptr) return run_row(connection, retry, asked);
  switch (asked.action) {
    case verb::take: return granted(connection, retry, statement_id::take, asked);
    case verb::insert: return granted(connection, retry, statement_id::insert, asked);
    case verb::poll: return poll(connection, retry, asked);
    case verb::take_over: return granted(connection, retry, statement_id::take_over, asked);
    case verb::extend: return changed(connection, retry, statement_id::extend, asked);
    case verb::release: {
      const bool later = asked.min_hold.count() > 0;
      return changed(connection, retry, later ? statement_id::release_min_hold : statement_id::release, asked);
    }
    case verb::cancel: return changed(connection, retry, statement_id::cancel, asked);
    case verb::pass_on: return granted(connection, retry, statement_id::pass_on, asked);
  }
  return {};
}

/// Several writes cost one commit. The answers count only once that is done. False: the database refused it, perhaps
/// for one of them, and nothing was done.
bool run_batch(lease_connection& connection, sqlite_busy_retry& retry, std::span<const request> requests,
               std::span<reply> replies) {
  reply failed;
  const bool done = connection.transact(retry, failed, [&] {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      replies[i] = execute_one(connection, retry, requests[i]);
      if (replies[i].result != outcome::failed && replies[i].result != outcome::unknown) continue;
      // A statement of a transaction that is rolled back did certainly nothing.
      failed = {.result = outcome::failed, .why = std::move(replies[i].why)};
      return false;
    }
    return true;
  });
  if (!done) std::fill(replies.begin(), replies.end(), failed);
  return done || failed.result != outcome::failed || failed.why.transient || failed.why.connection;
}

/// The row goes, the time that it showed stays. The change of the one counts only with the other.
reply close_session(lease_connection& connection, sqlite_busy_retry& retry, statement_values& values) {
  reply answer;
  connection.transact(retry, answer, [&] {
    int code = connection.run(statement_id::latest, retry, values);
    if (code == SQLITE_DONE) code = connection.run(statement_id::session_close, retry, values);
    answer = connection.changed_by(code);
    return code == SQLITE_DONE;
  });
  return answer;
}

/// A release that took so long was held up by another writer, or had no processor.
constexpr std::chrono::milliseconds held_up{3};

}  // namespace

void sqlite_store::note_done(std::span<const request> requests, std::span<reply> replies, bool late) noexcept {
  for (std::size_t i = 0; i != requests.size(); ++i) {
    const auto& asked = requests[i];
    if (replies[i].result != outcome::yes) continue;
    switch (asked.action) {
      case verb::take:
      case verb::insert:
      case verb::take_over: waiters_.taken(asked.resource); break;
      case verb::release:
        // A look costs a system call or two, which a short lease without waiters must not pay. Waiters may have come
        // to rely on a release that was held up.
        if (asked.min_hold.count() <= 0 && (asked.wake || late || !file_->wakes))
          replies[i].waiters = waiters_.released(asked.resource, asked.wake || !file_->wakes);
        break;
      case verb::cancel: waiters_.released(asked.resource); break;
      default: break;
    }
  }
}

void sqlite_store::execute(connection& connection, std::span<const request> requests,
                           std::span<reply> replies) noexcept {
  const auto begun = std::chrono::steady_clock::now();
  try {
    execute_all(static_cast<lease_connection&>(connection), requests, replies);
  } catch (...) {
    for (reply& r : replies) r = out_of_memory();
  }
  note_done(requests, replies, std::chrono::steady_clock::now() - begun >= held_up);
}

void sqlite_store::execute_all(lease_connection& link, std::span<const request> requests, std::span<reply> replies) {
  if (const int code = link.check(); code != SQLITE_OK) {
    std::fill(replies.begin(), replies.end(), link.refused(code, false));
    return;
  }
  const bool reads = requests.front().action == verb::poll;
  if (fault why; !reads && !application_.caller_may_wait(why)) {
    std::fill(replies.begin(), replies.end(), reply{.why = why});
    return;
  }
  sqlite_busy_retry retry(link, reads ? lane::read : lane::write);
  if (requests.size() > 1 && !reads) {
    // A row that the application's own triggers protect must not keep the others from their answers.
    if (run_batch(link, retry, requests, replies) || requests.front().row == nullptr || !link.usable()) return;
  }
  const auto of_key = [](const request& each) { return each.action == verb::poll && each.row == nullptr; };
  if (requests.size() > 1 && std::all_of(requests.begin(), requests.end(), of_key)) {
    return poll_all(link, retry, requests, replies);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& asked = requests[i];
    replies[i] = asked.in_order ? in_order(link, retry, asked) : execute_one(link, retry, asked);
  }
}

/// The wake file is read before the transaction: whoever enters it later comes later than this process, which has
/// entered its own wait before, or only begins to wait.
reply sqlite_store::in_order(lease_connection& link, sqlite_busy_retry& retry, const request& asked) {
  const auto others = [&](bool rings) { return waiters_.others_first(asked.resource, asked.registered, rings); };
  if (asked.action != verb::poll) {
    return others(false) ? reply{.result = outcome::no, .statements = 0} : execute_one(link, retry, asked);
  }
  auto answer = execute_one(link, retry, asked);
  const auto& holder = answer.holder;
  // Who is to have the key first matters only if somebody can have it. Whatever freed it may have woken nobody.
  if (answer.result == outcome::yes && (!holder.holder || holder.gone || holder.expired))
    answer.holder.others_first = others(true);
  return answer;
}

reply sqlite_store::session(connection& connection, session_verb action, const session_record& record) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& link) -> reply {
    if (fault why; !application_.caller_may_wait(why)) return {.why = std::move(why)};
    const bool renews = action == session_verb::renew;
    const auto& settings = file_->settings;
    sqlite_busy_retry retry(link, renews ? lane::renewal : lane::write,
                            renews ? settings.busy_timeout : settings.statement_timeout());
    statement_values values{.session = record.id,
                            .ttl = record.ttl.count(),
                            .host = record.host,
                            .pid = record.pid,
                            .label = record.label,
                            .boot = file_->boot};
    if (action == session_verb::close) {
      auto answer = close_session(link, retry, values);
      if (answer.result == outcome::yes) waiters_.session_ended();
      return answer;
    }
    constexpr statement_id statements[] = {statement_id::session_open, statement_id::session_renew,
                                           statement_id::session_remove_expired};
    const int code = link.run(statements[static_cast<std::size_t>(action)], retry, values);
    if (code == SQLITE_CONSTRAINT_PRIMARYKEY) return {.result = outcome::no};  // opened before
    return link.changed_by(code);
  });
}

}  // namespace dlock::stores::sqlite::lease_table
