// SPDX-License-Identifier: BSL-1.0
#include "engine/background/grant_lifecycle.hpp"

#include <algorithm>
#include <new>

namespace dlock::engine {

using namespace std::chrono_literals;

void grant_lifecycle::make_room(grant& grant, bool capped) {
  if ((grant.kind != lease_kind::session || capped) && grant.deadline == nullptr)
    grant.deadline = std::make_unique<grant_deadline>(grant);
}

bool grant_lifecycle::admit(const std::shared_ptr<grant>& grant, instant now) noexcept {
  ++counted_;  // before it can be lost
  grant->state.store(grant_state::held, std::memory_order_release);
  if (!sessions_.link(*grant)) {
    grant->state.store(grant_state::asked, std::memory_order_release);
    --counted_;
    changed_();
    return false;
  }
  table_.add(*grant);
  if (grant->kind == lease_kind::column) grant->deadline->renews_at = grant->granted_at + grant->ttl / renewals_in_ttl;
  watch(grant, now);
  if (grant->turn) grant->turn.granted(grant->key, grant->owner.get());
  return true;
}

void grant_lifecycle::watch(const std::shared_ptr<grant>& grant, instant now) noexcept {
  if (grant->deadline == nullptr) return;  // it has no other deadline than its session's
  auto& separate = *grant->deadline;
  auto when = separate.cap;
  if (grant->kind != lease_kind::session) when = std::min(when, now + separate.own_end.remaining(now));
  {
    const base::lock_guard lock(mutex_);
    when = std::min(when, separate.renews_at);
    // If it was lost meanwhile, gone() has removed or will remove its deadline.
    if (grant->state.load() != grant_state::held || !timers_.set(separate, when)) return;
  }
  sooner_(when);
}

instant grant_lifecycle::tick(instant now) noexcept {
  base::unique_lock lock(mutex_);
  while (timers_.first() <= now) {
    auto due = timers_.take_first().of.alive();
    if (due == nullptr) continue;
    lock.unlock();
    if (due->state.load() == grant_state::held) {
      if (due->remaining(now) > 0us) {
        begin_renewal(due, now);
        watch(due, now);  // it may have been extended meanwhile
      } else {
        lost(due, due->why(now), now);
      }
    }
    due.reset();  // without the lock, because that may destroy the whole core
    lock.lock();
  }
  return timers_.first();
}

/// Most leases end before their first renewal, so the task is made only then: its allocation, and the wake-ups of the
/// driver for its beginning and its end, would cost an acquire more than everything else that the client does.
void grant_lifecycle::begin_renewal(const std::shared_ptr<grant>& grant, instant now) noexcept {
  auto& separate = *grant->deadline;
  const base::lock_guard lock(mutex_);
  if (separate.renews_at > now || grant->state.load() != grant_state::held) return;
  try {
    separate.renewal = renewal_of_(*grant);
    separate.renewal->begin(grant);
    separate.renews_at = instant::max();
  } catch (const std::bad_alloc&) {
    separate.renews_at = now + grant->ttl / renewal_tries_in_ttl;
    news_.post({.what = event::kind::renewal_late, .key = grant->key.view(), .text = "no memory for its renewal"});
  }
}

void grant_lifecycle::lost(const std::shared_ptr<grant>& grant, loss_reason reason, instant now) noexcept {
  if (lingering_.remove(*grant)) return give_back(grant, now);  // it has no holder
  grant->set_reason(reason);
  if (grant->lost_at.load() == instant{}) grant->lost_at.store(now);
  auto held = grant_state::held;
  if (!grant->state.compare_exchange_strong(held, grant_state::lost)) return;
  grant->turn.hand_on();
  no_longer_held();
  background_.notify_holder(grant);
  // Rule 12: lost first, then the release. Rule 5: by session and fence, so that it can only ever free this grant.
  const auto margin = margin_for(grant->ttl, shared_.options.margin);
  if (grant->kind == lease_kind::session) grant->pin->not_freed_before(now + margin);
  background_.release_lost(grant, now);
  gone(*grant);
}

loss_reason grant_lifecycle::not_ours(grant& grant, instant now) noexcept {
  // While the server had to keep it, only another program can have overwritten the row. Otherwise the lease expired,
  // perhaps while that statement was under way.
  return grant.outlives(now) ? loss_reason::taken_over : grant.why(now);
}

bool grant_lifecycle::begin_release(grant& grant, bool& trusted, instant now) noexcept {
  trusted = grant.remaining(now) > 0us;
  if (!trusted) grant.set_reason(grant.why(now));
  auto held = grant_state::held;
  const bool ours = grant.state.compare_exchange_strong(held, grant_state::releasing);
  trusted = trusted && ours;  // it may have been lost in between
  return ours;
}

release_result grant_lifecycle::end_release(const std::shared_ptr<grant>& grant, release_result result, bool trusted,
                                            const fault& why, instant now, bool here) noexcept {
  if (result == release_result::lost && trusted) {
    grant->reason.store(not_ours(*grant, now));
    trusted = grant->reason.load() == loss_reason::taken_over;
  }
  const bool freed = result == release_result::freed;
  if (freed && grant->mode == exclusive) history_.released(grant->key, grant->fence, now);
  grant->turn.hand_on(freed && grant->min_hold.load().count() == 0);
  no_longer_held();
  if (!trusted) background_.notify_holder(grant);  // before gone(), which may end the notifier
  table_.drop(*grant);                             // before its owner learns that it is over
  event happened{.key = grant->key.view(), .fence = grant->fence_shown(), .held = now - grant->granted_at};
  bool tells = true;
  if (result == release_result::lost && trusted) {
    happened.what = event::kind::split_brain;
  } else if (result == release_result::later) {
    happened = {
        .what = event::kind::release_failed, .key = grant->key.view(), .fence = grant->fence_shown(), .text = why.text};
  } else if (trusted) {
    happened.what = event::kind::released;
  } else {
    tells = false;
  }
  // gone() may end the notifier. The observer must not find this grant still counted.
  if (tells && !here) news_.post(happened);
  gone(*grant);
  if (tells && here) shared_.notify(happened);
  return trusted ? result : release_result::lost;
}

void grant_lifecycle::leave_in_background(const std::shared_ptr<grant>& grant, instant now, bool unused) noexcept {
  if (table_.leave(*grant, false) != held_locks::leave_result::last ||
      !begin_release(*grant, grant->deferral.trusted, now))
    return;
  if (unused) grant->min_hold = microseconds{0};
  background_.release_now(grant, now);
}

bool grant_lifecycle::linger(const std::shared_ptr<grant>& grant, instant now) noexcept {
  if (grant->linger.count() == 0 || !lingers(grant->nonce)) return false;
  const event ended{.what = event::kind::released,
                    .key = grant->key.view(),
                    .fence = grant->fence_shown(),
                    .held = now - grant->granted_at};
  if (auto* const separate = grant->deadline.get()) {
    const base::lock_guard lock(mutex_);
    timers_.remove(*separate);
  }
  no_longer_held();
  if (!lingering_.keep(grant, now)) {
    counted_ -= ending - 1;
    return false;
  }
  // From here on another thread may have taken it.
  grant->turn.hand_on();
  shared_.notify(ended);
  return true;
}

void grant_lifecycle::give_back(const std::shared_ptr<grant>& grant, instant now) noexcept {
  history_.released(grant->key, grant->fence, now);
  grant->deferral.report_by = grant_deferral::reported;
  background_.release_later(grant, now);  // before it leaves the list of its session
  gone(*grant);
}

void grant_lifecycle::replaced(grant& grant) noexcept {
  sessions_.unlink(grant);
  counted_ -= ending;
  changed_();
}

// The end of a grant has two halves, and each happens once. Between them its holder may be notified, and another thread
// may then end the service, which must not count the grant as held.

void grant_lifecycle::no_longer_held() noexcept { counted_ += ending - 1; }

void grant_lifecycle::gone(grant& grant) noexcept {
  lingering_.forget(grant);
  sessions_.unlink(grant);
  if (auto* const separate = grant.deadline.get()) {
    const base::lock_guard lock(mutex_);
    timers_.remove(*separate);
    if (separate->renewal != nullptr) separate->renewal->stop();
  }
  counted_ -= ending;
  changed_();
}

}  // namespace dlock::engine
