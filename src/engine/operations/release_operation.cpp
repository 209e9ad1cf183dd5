// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/release_operation.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "engine/operations/row_pause.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {

// ---- what is sent ---------------------------------------------------------------------------------------------------

/// The grant for the next waiter of this process, to which the key can be passed on. Returns null if the key must be
/// freed: nobody here can use it, or waiters of other processes may have to be woken, or would starve.
std::shared_ptr<grant> next_grant(engine_services& services, const ended_lease& ended, instant now) noexcept {
  const auto& from = *ended.grant;
  if (!services.caps.passes_on || services.queue.waiting() == 0) return nullptr;
  if (from.kind != lease_kind::session || from.key.row() != nullptr || from.min_hold.load() > 0us) return nullptr;
  if (!ended.trusted || ended.send.ask.wake || services.closed.load()) return nullptr;
  if (!from.turn || !from.turn.next_uses(from.ttl) || services.grants.history().is_over(from.key, now)) return nullptr;
  try {
    auto next = std::make_shared<grant>(services.home.lock(), from.key);
    next->pin = from.pin.again();
    if (!next->pin) return nullptr;
    next->owner = from.owner;  // until the waiter sets its own
    next->kind = from.kind;
    next->fenced = from.fenced;
    next->ttl = from.ttl;
    next->nonce = services.shared.next_nonce();
    return next;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void begin(engine_services& services, ended_lease& ended, instant now) noexcept {
  // Rule 4: trust ends before the release is sent, not when it is answered.
  if (ended.last && !ended.begun) ended.begun = services.grants.begin_release(*ended.grant, ended.trusted, now);
  if (ended.begun && ended.trusted && services.grants.linger(ended.grant, now)) {
    ended.begun = false;  // it has ended, without a statement
    return;
  }
  ended.open = ended.begun;
  if (!ended.begun) {  // an inner lease, or it was lost and others free it
    if (ended.grant->remaining(now) == 0us) ended.result = release_result::lost;
    return;
  }
  if (!ended.grant->leaves_store()) {  // other readers of this process go on
    ended.open = false;
    return;
  }
  const auto& key = ended.grant->key;
  ended.send.priority = priority::frees;
  ended.send.ask = ended.grant->ask_release(now);
  // A key that may linger is freed because another process waits for it, or may do so.
  const bool looks =
      ended.grant->in_order || lingers(ended.grant->nonce) || services.grants.knowledge().looks(key, now);
  ended.send.ask.wake = services.caps.looks_for_waiters() && looks;
  ended.next = next_grant(services, ended, now);
  if (ended.next == nullptr) return;
  ended.send.ask = ended.next->ask(verb::pass_on);
  ended.send.ask.fence = ended.grant->fence;
}

/// Collects the statements for grants that are not freed yet in `room`.
std::span<statement*> open_of(std::span<ended_lease> all, std::span<statement*> room) noexcept {
  std::size_t count = 0;
  for (auto& each : all) {
    if (each.open) room[count++] = &each.send;
  }
  return room.first(count);
}

// ---- what is answered -----------------------------------------------------------------------------------------------

/// Handles an answer before any other caller can have the key.
void note_release(engine_services& services, const grant& released, instant now) noexcept {
  services.grants.history().released(released.key, released.fence, now);
  if (services.caps.looks_for_waiters()) services.grants.knowledge().released(released.key, released.nonce, now);
}

/// Handles the answer to a pass-on. Returns whether there is more to send.
bool judge_passing(engine_services& services, ended_lease& ended, instant now) noexcept {
  auto& answer = ended.send.answer;
  if (answer.result == outcome::yes) {
    ended.passed = true;
    ended.result = release_result::freed;
    ended.next->fence = answer.fence;
    ended.next->asked_at = ended.send.sent_at;
    note_release(services, *ended.grant, now);
    if (ended.grant->turn.pass_on(ended.next, ended.grant->ttl)) return false;
    ended.send.ask = ended.next->ask(verb::release);  // the waiter has left
    return true;
  }
  // The release that follows shows whether the key was passed on: if it finds the old fence, that can't happen any
  // more.
  ended.next->in_doubt = std::move(ended.send.in_doubt);
  if (answer.result == outcome::failed) ended.next.reset();
  ended.send.ask = ended.grant->ask(verb::release);
  return true;
}

/// Handles the answer to a release. Returns whether there is more to send.
bool judge_release(ended_lease& ended) noexcept {
  const auto said = ended.send.answer.result;
  if (said != outcome::yes && said != outcome::no) return true;
  if (ended.passed) return false;  // no waiter has got it
  if (said == outcome::no && ended.next != nullptr && ended.send.ask.action == verb::release) {
    // It was passed on, or lost. No statement that is still under way can grant it any more.
    ended.send.ask = ended.next->ask(verb::cancel);
    return true;
  }
  // After a try without an answer, "no" may mean that this try has freed the key.
  const bool freed = said == outcome::yes || ended.unanswered;
  ended.result = freed ? release_result::freed : release_result::lost;
  ended.next.reset();
  return false;
}

/// What to do about a grant that is not freed yet. If several differ, the last enumerator counts.
enum class next_try : std::uint8_t {
  none,
  after_a_pause,  ///< the same statement
  at_once,        ///< another statement
  in_background,  ///< it could not be sent, or failed for a lasting reason
};

next_try judge(engine_services& services, ended_lease& ended, instant now) noexcept {
  const bool passes = ended.send.ask.action == verb::pass_on;
  ended.open = passes ? judge_passing(services, ended, now) : judge_release(ended);
  if (!ended.open) return next_try::none;
  const auto said = ended.send.answer.result;
  // Meanwhile waiters may have begun to rely on a notification.
  ended.send.ask.wake = services.caps.looks_for_waiters() && ended.send.ask.min_hold.count() == 0;
  if (said == outcome::yes || said == outcome::no || (passes && said == outcome::failed && ended.send.sent)) {
    return next_try::at_once;
  }
  if (said == outcome::unknown) ended.unanswered = true;
  if (!ended.passed) ended.result = release_result::later;
  ended.why = std::move(ended.send.answer.why);
  // Each names session and fence, or nonce, so it may be repeated, also on another connection (rule 6).
  const bool soon = said == outcome::unknown || ended.why.transient || ended.why.contended || ended.why.connection;
  return ended.send.sent && soon ? next_try::after_a_pause : next_try::in_background;
}

// ---- the end --------------------------------------------------------------------------------------------------------

void leave_to_background(engine_services& services, ended_lease& ended, instant now) noexcept {
  if (ended.passed) return services.background.release_later(std::move(ended.next), now);
  services.background.release_later(ended.grant, now);
  if (ended.next == nullptr) return;
  auto doubt = std::move(ended.next->in_doubt);
  services.background.cancel_later(std::move(ended.next), std::move(doubt), instant::max(), now);
}

void finish(engine_services& services, ended_lease& ended, instant now) noexcept {
  if (!ended.begun) return;
  if (ended.open) leave_to_background(services, ended, now);
  // If it was passed on: that of the grant for a waiter that had gone.
  const auto* const released = ended.passed ? ended.next.get() : ended.grant.get();
  if (!ended.open && released != nullptr) note_waiters(services, *released, ended.send, ended.unanswered, now);
  // A waiter of another process that was woken comes first.
  if (ended.grant->mode != exclusive && ended.send.answer.waiters == 0) services.queue.member_left(ended.grant->key);
  ended.result = services.grants.end_release(ended.grant, ended.result, ended.trusted, ended.why, now, true);
}

}  // namespace

void note_waiters(engine_services& services, const grant& released, const statement& by, bool unanswered,
                  instant now) noexcept {
  const auto waiters = by.answer.waiters;
  if (released.mode != exclusive) {
    // Otherwise a loop that takes a permit again at once would have it before the waiter.
    if (waiters > 0 && released.mode != shared && services.caps.looks_for_waiters())
      services.grants.history().gave_way(released.key, waiters, now);
    return;
  }
  if (services.caps.looks_for_waiters()) {
    auto& knowledge = services.grants.knowledge();
    // Only what frees the key looks: no release that min_hold delays, and none that finds another grant. A try without
    // an answer may have woken a waiter.
    const bool frees = by.answer.result == outcome::yes && by.ask.min_hold.count() == 0;
    const bool looked = by.ask.wake && frees && (waiters > 0 || !unanswered);
    if (looked) {
      knowledge.looked(released.key, released.nonce, waiters, by.sent_at);
    } else {
      knowledge.released(released.key, released.nonce, now);
    }
  }
  if (waiters > 0) services.grants.history().notified(released.key, released.fence, waiters, now);
}

task<void> release_leases(flow& f, engine_services& services, std::span<ended_lease> all, std::span<statement*> room) {
  const auto until = f.now() + services.shared.options.release_limit;
  row_pause pauses;
  for (auto& each : all) begin(services, each, f.now());
  for (auto open = open_of(all, room); !open.empty();) {
    for (auto* each : open) {
      each->queue_deadline = until;
      each->timeout = microseconds{0};  // a statement that waited for a connection has no more time
    }
    co_await f.send(open);
    auto next = next_try::none;
    for (auto& each : all) {
      if (each.open) next = std::max(next, judge(services, each, f.now()));
    }
    open = open_of(all, room);
    if (next == next_try::in_background || f.now() + row_pause::shortest >= until) break;
    if (next == next_try::after_a_pause) {
      co_await f.wait(std::min(f.now() + pauses.next(), until - row_pause::shortest));
    }
  }
  for (auto& each : all) finish(services, each, f.now());
}

}  // namespace dlock::engine
