// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/downgrade.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "engine/operations/key_attempt.hpp"
#include "engine/operations/lock_errors.hpp"
#include "engine/operations/row_pause.hpp"

namespace dlock::engine {

void check_may_downgrade(const engine_services& services, grant& held) {
  const auto refuse = [&](const char* why) {
    throw std::logic_error(fmt::format("dlock: key '{}': downgrade(): {}", printable(held.key), why));
  };
  if (held.mode == shared) refuse("the lease is shared already");
  if (held.mode != exclusive) refuse("the lease is a permit, and excludes no reader");
  if (held.kind != lease_kind::session) refuse("a reader has no expiry of its own: renewal = automatic");
  if (held.min_hold.load().count() > 0) refuse("a reader has no min_hold");
  if (held.linger.count() > 0) refuse("a key that lingers has no readers");
  if (held.in_order) refuse("fairness = fifo: a key in order has no readers");
  // Readers would see what was there before its commit; and the row of the key is locked by it.
  if (services.table.pinned_by_transaction(held))
    refuse("a transaction has verified the lease: end that first, so that readers see what it has written");
  if (!services.table.sole(held)) refuse("its owner has entered the key again: only the last lease can be downgraded");
}

std::shared_ptr<grant> make_downgraded(engine_services& services, const grant& held) {
  auto next = std::make_shared<grant>(services.home.lock(), held.key);
  next->pin = held.pin.again();
  next->owner = held.owner;
  next->fenced = held.fenced;
  next->ttl = held.ttl;
  next->mode = shared;
  next->reader = std::make_shared<reader_row>();
  next->nonce = services.shared.next_nonce();
  next->fence = held.fence;
  const auto cap = held.deadline == nullptr ? instant::max() : held.deadline->cap;
  services.grants.make_room(*next, cap != instant::max());
  if (next->deadline != nullptr) next->deadline->cap = cap;
  return next;
}

namespace {

/// Sends the statement until the store has answered, or the time is over. Returns whether it may have been executed
/// without an answer.
task<bool> send_until_answered(flow& f, engine_services& services, ended_lease& ended) {
  const auto until = f.now() + services.shared.options.release_limit;
  row_pause pauses;
  for (;;) {
    ended.send.priority = priority::frees;
    ended.send.ask = ended.next->ask(verb::pass_on);
    ended.send.ask.wake = services.caps.looks_for_waiters();
    ended.send.queue_deadline = until;
    ended.send.timeout = microseconds{0};
    co_await f.send(ended.send);
    const auto& answer = ended.send.answer;
    const auto said = ended.send.sent ? answer.result : outcome::failed;
    if (said == outcome::yes) ended.result = release_result::freed;
    if (said == outcome::no) ended.result = release_result::lost;
    if (said == outcome::yes || said == outcome::no) co_return false;
    ended.why = answer.why;
    if (said == outcome::unknown) co_return true;
    const bool passes = answer.why.transient || answer.why.contended || answer.why.connection;
    const auto pause = pauses.next();
    if (!ended.send.sent || !passes || f.now() + pause >= until) co_return false;
    co_await f.wait(f.now() + pause);
  }
}

/// The store has made it a reader. Returns false if its session is over.
bool become_reader(engine_services& services, ended_lease& ended, instant now) noexcept {
  auto& next = *ended.next;
  next.asked_at = ended.send.sent_at;
  next.granted_at = now;
  next.take_signal(*ended.grant);
  const auto row = next.reader;  // before any other thread can end it
  if (!services.grants.admit(ended.next, now)) {
    ended.grant->take_signal(next);
    return false;
  }
  services.readers.offer(next, row, now);
  return true;
}

}  // namespace

task<void> downgrade_lease(flow& f, engine_services& services, ended_lease& ended) {
  ended.result = release_result::lost;
  ended.begun = services.grants.begin_release(*ended.grant, ended.trusted, f.now());
  if (!ended.begun) {  // it was lost meanwhile, and others free it
    ended.next.reset();
    co_return;
  }
  bool unsure = false;
  ended.trusted = ended.trusted && ended.next->pin;
  if (ended.trusted) {
    ended.result = release_result::later;
    unsure = co_await send_until_answered(f, services, ended);
  }
  const bool done = ended.result == release_result::freed;
  if (done && !become_reader(services, ended, f.now())) {
    ended.result = release_result::lost;
    ended.trusted = false;
    services.background.cancel_later(std::move(ended.next), nullptr, instant::max(), f.now());
  } else if (ended.result == release_result::later || !ended.trusted) {
    // Whether it is exclusive or a reader by now: both end.
    services.background.release_later(ended.grant, f.now());
    if (unsure) {
      auto doubt = std::move(ended.send.in_doubt);
      services.background.cancel_later(std::move(ended.next), std::move(doubt), instant::max(), f.now());
    }
  }
  if (ended.result != release_result::freed) ended.next.reset();
  if (done) note_waiters(services, *ended.grant, ended.send, false, f.now());
  ended.result = services.grants.end_release(ended.grant, ended.result, ended.trusted, ended.why, f.now(), true);
}

}  // namespace dlock::engine
