// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/release_subscription.hpp"

#include <algorithm>
#include <utility>

#include "engine/registry/nested_wait.hpp"

namespace dlock::engine {

task<void> poll_wait::run(flow& f, queue_turn& turn, statement* then, instant until, const lock_key* key) {
  interrupted_ = was_notified_ = false;
  pause::poll = then;
  turn_ = &turn;
  services_.pauses.enter(*this, f.now(), until);
  if (turn) turn.begins_pause(*this, f.now());
  if (notified_) shorten(f.now());
  bool polled = false;
  for (auto ends = services_.pauses.end_of(*this); turn_ != nullptr;) {
    const auto why = co_await f.wait(ends, key);
    polled = services_.pauses.polled(*this);
    ends = services_.pauses.end_of(*this);
    if (!why && !polled && f.now() < ends) continue;
    if (services_.pauses.leave(*this)) {
      interrupted_ = why && !polled;
      end();
    } else {
      ends = instant::max();  // another waiter has just sent the poll
    }
  }
  if (polled || interrupted_) co_return;
  was_notified_ = notified_.exchange(false);
  if (!was_notified_ && pause::poll != nullptr) co_await f.send(*pause::poll_now(f.now()), true);
}

poll_wait::~poll_wait() {
  if (end()) services_.pauses.leave_for_good(*this);
}

/// The queue does not use it any more. False: it has ended already.
bool poll_wait::end() noexcept {
  auto* const turn = std::exchange(turn_, nullptr);
  if (turn != nullptr && *turn) turn->ends_pause();
  return turn != nullptr;
}

void poll_wait::tell() noexcept {
  notified_ = true;
  shorten(instant::min());
}

namespace {

/// After this time a waiter that the store did not register asks again.
constexpr microseconds asks_again_after = std::chrono::seconds{10};

}  // namespace

void release_subscription::begin(const lock_key& key, const id128& session, bool in_order, instant now) noexcept {
  if (!services_.caps.wakes_one() && (!services_.caps.tells_free() || key.row() != nullptr)) return;
  // A registered waiter keeps its place, even if its session changes, which only shows others who waits.
  const bool same = key_ == &key && (session_ == session || (services_.caps.wakes_one() && (session_ || in_order)));
  if (same && !stopped_ && (works_ || !services_.caps.wakes_one() || now - begun_ < asks_again_after)) return;
  end();
  begun_ = now;
  stopped_ = changed_ = false;
  key_ = &key;
  session_ = session;
  services_.statements.where().watch(key.view(), session, *this);
}

void release_subscription::hear_of_last_member() noexcept {
  if (!services_.caps.wakes_one() || key_ == nullptr || last_member_) return;
  last_member_.emplace(key_->view());
  services_.statements.where().watch(last_member_->view(), session_, *this);
}

instant release_subscription::pause_until(const lock_key& key, const id128& session, const lock_request& request,
                                          const acquire_machine& machine, instant now) {
  if (services_.caps.tells_free()) {
    if (machine.waits_for_holder()) begin(key, session, request.in_order(), now);
    return now + (replaces_polls() ? machine.pause_if_notified() : machine.pause());
  }
  // A limit counts pauses as the policy asks for them.
  if (!services_.caps.wakes_one() || !machine.waits_for_holder() || request.terms.retry.limited())
    return now + machine.pause();
  // In order, a waiter registers at once, because its place is that of its registration; and where the holder had to
  // wait itself, because then the key is not free soon; and behind members, each of which looks when it leaves. A
  // caller whom a closed key keeps out asks again before: the others have had their turn soon, as a rule.
  const bool kept_out = request.shares() && machine.holder().shared == membership::closed;
  const bool at_once = request.in_order() || (machine.relies_on_release(now) && !kept_out);
  if (first_pause_ == instant{}) {
    first_pause_ = now;
    if (!at_once && key_ == nullptr) return now + std::min<microseconds>(machine.pause(), quiet_without_waiters);
  }
  if (at_once || now + machine.pause() >= first_pause_ + quiet_without_waiters) {
    begin(key, session, request.in_order(), now);
  }
  if (key_ != nullptr && key.row() != nullptr) saw(machine.holder());
  return now + (replaces_polls() ? machine.pause_if_registered(now) : machine.pause());
}

void release_subscription::list_held(held_meanwhile& all) const {
  if (key_->row() != nullptr) {
    const base::lock_guard lock(mutex_);
    if (!shown_) return;
    all.row = shown_;
  }
  nested_wait::list_held(services_.statements.where(), *key_, all.locks);
}

void release_subscription::closes_cycle(const lock_held_meanwhile& held, std::span<const cycle_link> others) noexcept {
  nested_wait::closes_cycle(services_.statements.where(), *key_, held, others);
}

/// A row that changes hands at each poll is in no deadlock cycle, so its holders are not worth a statement.
void release_subscription::saw(const seen& holder) noexcept {
  const row_grant now{.session = holder.holder, .nonce = holder.nonce};
  show(std::exchange(seen_, now) == now ? now : row_grant{});
}

void release_subscription::show(const row_grant& holder) noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (std::exchange(shown_, holder) == holder) return;
  }
  services_.statements.where().waiters_changed(key_->view());
}

void release_subscription::end() noexcept {
  if (key_ == nullptr) return;
  if (last_member_) services_.statements.where().unwatch(last_member_->view(), session_, *this);
  last_member_.reset();
  services_.statements.where().unwatch(key_->view(), session_, *this);
  key_ = nullptr;  // after unwatch(), because the store may ask about the key until then
  works_ = false;
  pause_.forget();
  seen_ = {};
  const base::lock_guard lock(mutex_);
  shown_ = {};
}

}  // namespace dlock::engine
