// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/background/grant_registry.hpp"

#include <algorithm>
#include <utility>

namespace dlock::engine {

using namespace std::chrono_literals;

grant_registry::room grant_registry::make_room(grant& one) {
  room made;
  if ((one.kind != lease_kind::session || one.cap != instant::max()) && one.deadline == nullptr)
    deadline_timer::make_room(one);
  if (one.kind == lease_kind::column) made.renewal = row_renewer::make_room();
  return made;
}

bool grant_registry::admit(const std::shared_ptr<grant>& one, room& of, instant now) noexcept {
  ++counted_;  // before it can be lost
  one->state.store(grant_state::held, std::memory_order_release);
  if (!sessions_.link(*one)) {
    one->state.store(grant_state::asked, std::memory_order_release);
    --counted_;
    changed_();
    return false;
  }
  table_.add(*one);
  watch(one, now);
  if (of.renewal != nullptr) rows_.add(one, std::move(of.renewal), now);
  if (one->turn) one->turn.granted(one->key, one->owner.get());
  history_.granted(one->key, one->fence, one->granted_at);
  return true;
}

void grant_registry::watch(const std::shared_ptr<grant>& one, instant now) noexcept {
  const bool by_session = one->kind == lease_kind::session;
  if (by_session && one->cap == instant::max()) return;  // its session's deadline is all it has
  deadlines_.set(one, by_session ? one->cap : std::min(one->cap, now + one->own_end.left(now)));
}

void grant_registry::deadline_passed(const std::shared_ptr<grant>& one, instant now) noexcept {
  if (one->state.load() != grant_state::held) return;
  if (one->left(now) > 0us) {
    watch(one, now);
  } else {
    lost(one, one->why(now), now);
  }
}

void grant_registry::lost(const std::shared_ptr<grant>& one, loss_reason reason, instant now) noexcept {
  one->set_reason(reason);
  auto held = grant_state::held;
  if (!one->state.compare_exchange_strong(held, grant_state::lost)) return;
  one->turn.hand_on();
  no_longer_held();
  news_.post(one);
  // Rule 12: lost first, then the release. Rule 5: by session and fence, so that it can only ever free this grant.
  const auto margin = margin_for(one->ttl, shared_.options.margin);
  if (one->kind == lease_kind::session) one->pin->not_freed_before(now + margin);
  background_.release_lost(one, now + margin, now + long_enough, now);
  gone(*one);
}

loss_reason grant_registry::not_ours(grant& one, instant now) noexcept {
  // While the server had to keep it, somebody has broken in. Otherwise it ran out, be it on the way of that statement.
  return one.outlives(now) ? loss_reason::taken_over : one.why(now);
}

bool grant_registry::begin_release(grant& one, bool& trusted, instant now) noexcept {
  trusted = one.left(now) > 0us;
  if (!trusted) one.set_reason(one.why(now));
  auto held = grant_state::held;
  const bool ours = one.state.compare_exchange_strong(held, grant_state::releasing);
  trusted = trusted && ours;  // it may have been lost since: whoever did that has counted it out
  return ours;
}

release_result grant_registry::end_release(const std::shared_ptr<grant>& one, release_result result, bool trusted,
                                           const fault& why, instant now, bool here) noexcept {
  if (result == release_result::lost && trusted) {
    one->reason.store(not_ours(*one, now));
    trusted = one->reason.load() == loss_reason::taken_over;
  }
  const bool freed = result == release_result::freed;
  if (freed) history_.released(one->key, one->fence, now);
  one->turn.hand_on(freed && one->min_hold.load().count() == 0);
  no_longer_held();
  if (!trusted) news_.post(one);  // before gone(), which may end the notifier
  table_.drop(*one);              // before its owner is told that it is over
  event happened{.key = one->key.view(), .fence = one->fence, .held = now - one->granted_at};
  bool tells = true;
  if (result == release_result::lost && trusted) {
    happened.what = event::kind::split_found;
  } else if (result == release_result::later) {
    happened = {.what = event::kind::release_failed, .key = one->key.view(), .fence = one->fence, .text = why.text};
  } else if (trusted) {
    happened.what = event::kind::released;
  } else {
    tells = false;
  }
  // gone() may end the notifier. The observer may end the service, and must not find this grant still counted.
  if (tells && !here) news_.post(happened);
  gone(*one);
  if (tells && here) shared_.notify(happened);
  return trusted ? result : release_result::lost;
}

void grant_registry::leave_in_background(const std::shared_ptr<grant>& one, instant now) noexcept {
  if (table_.leave(*one, false) != grant_table::left::last || !begin_release(*one, one->trusted, now)) return;
  background_.release_now(one, now);
}

// The two halves of the end of a grant, each exactly once. Between them its holder may be told, who may end the service
// then, which must not count it as held.

void grant_registry::no_longer_held() noexcept { counted_ += ending - 1; }

void grant_registry::gone(grant& one) noexcept {
  sessions_.unlink(one);
  deadlines_.clear(one);
  counted_ -= ending;
  changed_();
}

}  // namespace dlock::engine
