// SPDX-License-Identifier: BSL-1.0

/// The verbs on lock and session rows: each one prepared statement.

#include <fmt/format.h>

#include <algorithm>

#include "dlock/store_interface/closing_bell.hpp"
#include "dlock/store_interface/linger_bell.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

/// Polls by one SELECT; each request gets its own reply.
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
        replies[i] = {.result = outcome::yes, .holder = holder_in_key(s, asked), .statements = 0};
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

/// Runs several writes with one commit. The replies count only after that. Returns false if the database refused the
/// transaction, perhaps because of one request, so that nothing was changed.
bool run_batch(lease_connection& connection, sqlite_busy_retry& retry, std::span<const request> requests,
               std::span<reply> replies) {
  reply failed;
  const bool done = connection.transact(retry, failed, [&] {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      replies[i] = sql::execute(connection, requests[i]);
      if (replies[i].result != outcome::failed && replies[i].result != outcome::unknown) continue;
      // The statements of a transaction that was rolled back certainly changed nothing.
      failed = {.result = outcome::failed, .why = std::move(replies[i].why)};
      return false;
    }
    return true;
  });
  if (!done) std::fill(replies.begin(), replies.end(), failed);
  return done || failed.result != outcome::failed || failed.why.transient || failed.why.connection;
}

/// Deletes the row, and keeps the time that it showed, in one transaction.
reply close_session(lease_connection& connection, sqlite_busy_retry& retry, const session_record& of) {
  reply answer;
  connection.transact(retry, answer, [&] {
    answer = connection.change(statement_id::latest, {}, {});
    if (answer.result != outcome::failed && answer.result != outcome::unknown)
      answer = sql::execute(connection, session_verb::close, of);
    return answer.result == outcome::yes || answer.result == outcome::no;
  });
  return answer;
}

/// A release that took this long was held up by another writer, or its thread did not run.
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
        // A check costs a system call or two, which a short lease without waiters must not pay. While a release was
        // held up, waiters may have come to rely on it.
        if (asked.min_hold.count() <= 0 && (asked.wake || late || !file_->wakes))
          replies[i].waiters = waiters_.released(asked.resource, asked.wake || !file_->wakes);
        break;
      case verb::cancel: waiters_.released(asked.resource); break;
      case verb::poll:
        if (rings_holder(asked, replies[i])) waiters_.released(linger_bell(replies[i].holder.holder).view(), false);
        break;
      default: break;
    }
  }
}

void sqlite_store::execute(connection& connection, std::span<const request> requests,
                           std::span<reply> replies) noexcept {
  const auto begun = std::chrono::steady_clock::now();
  auto& link = static_cast<lease_connection&>(connection);
  const bool shared =
      requests.size() == 1 && requests[0].action != verb::poll && sql::shared_keys::concerns(requests[0]);
  try {
    if (shared) {
      replies[0] = execute_shared(link, requests[0]);
    } else {
      execute_all(link, requests, replies);
    }
    for (std::size_t i = 0; i != requests.size(); ++i) {
      if (requests[i].action != verb::poll || !sql::shared_keys::is_shared(replies[i].holder.holder)) continue;
      shared_.look(link, requests[i], replies[i]);
      const auto& seen = replies[i].holder;
      if (requests[i].units != 0 && requests[i].registered && seen.shared == membership::open && seen.holder)
        waiters_.wake_other(requests[i].resource, true);
    }
  } catch (...) {
    for (reply& r : replies) r = out_of_memory();
  }
  if (shared) return;
  note_done(requests, replies, std::chrono::steady_clock::now() - begun >= held_up);
}

reply sqlite_store::execute_shared(lease_connection& link, const request& asked) {
  if (const int code = link.check(); code != SQLITE_OK) return link.refused(code, false);
  if (fault why; !application_.caller_may_wait(why)) return {.why = std::move(why)};
  auto answer = shared_.execute(link, asked);
  if (answer.result == outcome::yes) note_shared(link, asked, answer);
  return answer;
}

void sqlite_store::note_shared(lease_connection& link, const request& asked, reply& answer) {
  const closing_bell bell(asked.resource);
  switch (asked.action) {
    case verb::take:
    case verb::insert:
    case verb::take_over:
      waiters_.taken(asked.resource);
      if (asked.units == 0) waiters_.taken(bell.view());
      // A caller that had to wait was woken, as a rule, and passes that on: there may be room for others, too.
      if (asked.units != 0 && asked.wake) waiters_.wake_other(asked.resource, false);
      break;
    case verb::pass_on:
    case verb::open: waiters_.released(asked.resource); break;
    case verb::release:
    case verb::cancel: {
      if (!waiters_.anyone(asked.resource)) break;
      sql::shared_keys::sharing now;
      const auto read = shared_.read_sharing(link, asked.resource, now);
      answer.statements += read.statements;
      if (read.result != outcome::yes) break;  // the waiters poll soon
      if (now.shared == membership::open) answer.waiters = waiters_.released(asked.resource);
      if (now.shared == membership::closed && !now.has_members) answer.waiters = waiters_.released(bell.view());
      break;
    }
    default: break;
  }
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
  lease_connection::verb_retry retry(link, reads ? lane::read : lane::write);
  if (requests.size() > 1 && !reads) {
    // A row that the application's own triggers protect must not fail the others.
    if (run_batch(link, retry.get(), requests, replies) || requests.front().row == nullptr || !link.usable()) return;
  }
  const auto of_key = [](const request& each) { return each.action == verb::poll && each.row == nullptr; };
  if (requests.size() > 1 && std::all_of(requests.begin(), requests.end(), of_key)) {
    return poll_all(link, retry.get(), requests, replies);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& asked = requests[i];
    replies[i] = asked.in_order ? in_order(link, asked) : sql::execute(link, asked);
  }
}

/// Reads the wake file before the transaction: a process that enters it later comes later than this one, which has
/// either entered its own wait before or only begins to wait.
reply sqlite_store::in_order(lease_connection& link, const request& asked) {
  if (asked.action != verb::poll) {
    const bool others = waiters_.others_first(asked.resource, asked.registered);
    return others ? reply{.result = outcome::no, .statements = 0} : sql::execute(link, asked);
  }
  auto answer = sql::execute(link, asked);
  const auto& holder = answer.holder;
  // The order matters only if somebody can get the key. Its release may have woken no waiter.
  if (answer.result == outcome::yes && (!holder.holder || holder.gone || holder.expired))
    answer.holder.others_first = waiters_.let_first(asked.resource, asked.registered, holder.fence);
  return answer;
}

reply sqlite_store::waited_for(connection&, std::span<const request> keys, std::span<reply> replies) noexcept try {
  reply answer{.result = outcome::yes, .statements = 0};
  answer.why.text = waiters_.find_others(keys, replies);
  if (!answer.why.text.empty()) answer.result = outcome::failed;
  for (std::size_t i = 0; i != keys.size(); ++i) {
    if (waiters_.watches(keys[i].resource)) replies[i].waiters = 1;
  }
  return answer;
} catch (const std::exception&) {
  return out_of_memory();
}

reply sqlite_store::session(connection& connection, session_verb action, const session_record& record) noexcept {
  return sql::attempt<lease_connection>(connection, "session", [&](lease_connection& link) -> reply {
    if (fault why; !application_.caller_may_wait(why)) return {.why = std::move(why)};
    const bool renews = action == session_verb::renew;
    const auto& settings = file_->settings;
    lease_connection::verb_retry retry(link, renews ? lane::renewal : lane::write,
                                       renews ? settings.busy_timeout : settings.statement_timeout());
    if (action != session_verb::close) return sql::execute(link, action, record);
    auto answer = close_session(link, retry.get(), record);
    if (answer.result == outcome::yes) waiters_.session_ended();
    return answer;
  });
}

}  // namespace dlock::stores::sqlite::lease_table
