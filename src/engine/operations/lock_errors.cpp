// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/lock_errors.hpp"

#include <fmt/format.h>

#include "dlock/store_interface/transactional_store.hpp"

namespace dlock::engine {

bool engine_services::may_wait(fault& why) const noexcept {
  const auto* const transactions = statements.where().transactions();
  return transactions == nullptr || transactions->caller_may_wait(why);
}

void ensure_held(grant& grant, instant now) {
  if (grant.remaining(now).count() > 0) return;
  const auto reason = grant.why(now);
  const auto lost = grant.lost_at.load();
  throw lock_lost(reason, lost != instant{}
                              ? fmt::format("key '{}': lost {} ms after the grant: {}", printable(grant.key),
                                            in_ms(lost - grant.granted_at), explain(reason))
                              : fmt::format("key '{}': lost, noticed {} ms after the grant: {}", printable(grant.key),
                                            in_ms(now - grant.granted_at), explain(reason)));
}

void check_may_wait(const engine_services& services, const lock_key& key) {
  if (services.closed.load())
    throw lock_refused(errc::closed, fmt::format("key '{}': the lock service is closed", printable(key)));
  if (fault why; !services.may_wait(why)) throw_waits_for_itself(key, "", why);
}

void throw_waits_for_itself(const lock_key& key, const std::string& doing, const fault& why) {
  throw store_error(errc::store_failed, fmt::format("key '{}': {}{}", printable(key), doing, why.text), why.native,
                    why.sqlstate, false);
}

void throw_failed(engine_services& services, const lock_key& key, const fault& why, bool unknown, microseconds waited) {
  const auto text = fmt::format("after {} ms: {}", in_ms(waited), trouble(services, why));
  services.shared.notify({.what = event::kind::acquire_failed, .key = key.view(), .text = text});
  const auto code = unknown ? errc::outcome_unknown : why.connection ? errc::store_unreachable : errc::store_failed;
  throw store_error(code, fmt::format("key '{}': {}", printable(key), text), why.native, why.sqlstate, why.transient);
}

void throw_no_such_row(const lock_key& key) {
  throw lock_refused(errc::no_such_row, fmt::format("row '{}' does not exist", printable(key)));
}

void throw_too_many(const engine_services& services, const lock_key& key) {
  throw lock_refused(errc::too_many_waiters, fmt::format("key '{}': {} callers wait for locks already (max_waiters)",
                                                         printable(key), services.shared.options.max_waiters));
}

void throw_interrupted(interruption why, const lock_key& key, microseconds waited) {
  // cycle_check has found the cycle, and completes the message.
  if (why == interruption::deadlock)
    throw lock_deadlock(fmt::format("key '{}': the wait would never end", printable(key)));
  const bool closed = why == interruption::closed;
  throw lock_refused(closed ? errc::closed : errc::cancelled,
                     fmt::format("key '{}': {} after a wait of {} ms", printable(key),
                                 closed ? "the lock service was closed" : "cancelled", in_ms(waited)));
}

std::string busy_text(const engine_services& services, const lock_key& key, const seen& holder, const id128& mine,
                      microseconds waited, bool row_locked) {
  const auto text = fmt::format("key '{}': still busy after {} ms", printable(key), in_ms(waited));
  if (row_locked) {
    return text +
           ", without a holder, but an open transaction has written or locked its row: of another program, or of "
           "the calling thread itself";
  }
  if (holder.shared != membership::none && !holder.who.empty()) return text + ", shared by " + holder.who;
  if (holder.holder && holder.holder == mine) {
    return text + ", held by this service itself: by a grant whose release has had no answer yet, or by a claim";
  }
  const auto here = fmt::format("{}/{}", services.shared.host, services.shared.pid);
  if (holder.who == here || holder.who.starts_with(here + " ")) {
    return text + ", held by another service of this process: " + holder.who;
  }
  return holder.who.empty() ? text : text + ", held by " + holder.who;
}

std::string busy_here_text(const engine_services& services, const lock_request& asked, const lock_key& key,
                           microseconds waited) {
  const bool own = services.table.find(*asked.owner, key, true, false).held != nullptr;
  return fmt::format(
      "key '{}': still busy after {} ms{}", printable(key), in_ms(waited),
      own && asked.terms.reentry == reentry::busy
          ? ": its owner holds it already, and reentry::busy doesn't enter it again"
      : own ? ": this thread holds it itself, by a lease that is not on its stack (in a coroutine, on the "
              "heap, or moved to another thread) and so is not entered again; a task that is to enter again "
              "needs another owner (dlock::owner_scope)"
            : ", held or waited for by another owner in this process (a thread, a coroutine, or a task with a "
              "dlock::owner)");
}

std::string_view explain(loss_reason reason) noexcept {
  return reason == loss_reason::taken_over ? "another holder has it, or its row was deleted" : to_string(reason);
}

std::string trouble(const engine_services& services, const fault& why) {
  return with_store_name(services.statements.where().name(), why.text);
}

void throw_store_error(const engine_services& services, const std::string& doing, const statement& statement) {
  const auto& why = statement.answer.why;
  const auto code = statement.answer.result == outcome::unknown ? errc::outcome_unknown
                    : !statement.sent || why.connection         ? errc::store_unreachable
                                                                : errc::store_failed;
  throw store_error(code, fmt::format("{}: {}", doing, trouble(services, why)), why.native, why.sqlstate,
                    why.transient);
}

}  // namespace dlock::engine
