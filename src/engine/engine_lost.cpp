// SPDX-License-Identifier: GPL-2.0-or-later
// How a lease is lost: by its alarm, or with its session.
#include <utility>

#include "engine/engine.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
/// So long a key that was lost waits to be freed until its holder has been told. In each case it waits for the margin, which
/// is the time that a holder has between the one and the other.
constexpr microseconds long_enough = 1s;
}  // namespace

void engine::arm(const std::shared_ptr<grant>& one) {
  const auto now = shared_.now();
  if (one->kept && one->cap == instant::max()) return;  // its session's deadline is all it has
  alarm_.set(one, one->kept ? one->cap : std::min(one->cap, now + one->own_end.left(now)));
}

void engine::ring(const std::shared_ptr<grant>& one) {
  const auto now = shared_.now();
  if (one->state.load() != grant_state::held) return;
  if (one->left(now) > 0us) {
    arm(one);  // renewed by hand since the alarm was set
    return;
  }
  lost(one, one->why(now));
}

void engine::lost(const std::shared_ptr<grant>& one, loss_reason reason) {
  auto none = loss_reason::none;
  one->reason.compare_exchange_strong(none, reason);
  auto held = grant_state::held;
  if (!one->state.compare_exchange_strong(held, grant_state::lost)) return;
  leave_queue(*one);
  no_longer_held();
  herald_.post(one);
  // Rule 12: lost first, then the release. Rule 5: by session and fence, so that it can only ever free this grant.
  const auto now = shared_.now();
  if (one->kept) one->kept_by->not_freed_before(now + one->margin);
  auto& freeing = prepared_release(*one);
  freeing.give_up = now + 2 * one->ttl + 10s;
  freeing.held_back = now + one->margin;
  freeing.untold = one;
  freeing.told_by = now + long_enough;
  chores_.add(*one->spare);
  done_with(*one);
}

void engine::session_over(std::shared_ptr<session> one, std::vector<std::shared_ptr<grant>> held, loss_reason reason) {
  if (one != nullptr) {
    if (reason != loss_reason::none) {
      herald_.post({.what = event::kind::session_lost, .reason = reason, .text = one->id.hex()});
    }
    // Nobody trusts anything of it any more. Before the releases, which are many: without its row all it holds, and may
    // still be granted, is free to others at once.
    const auto now = shared_.now();
    const auto from = reason == loss_reason::none ? now : now + margin_for(one->ttl, shared_.options.margin);
    chores_.add({.what = chore::kind::close,
                 .by = std::move(one),
                 .give_up = from + 1min,
                 .held_back = from,
                 .untold = held.empty() ? nullptr : held.back(),  // they are told in order
                 .told_by = now + long_enough});
  }
  for (const auto& each : held) lost(each, reason);
}

}  // namespace dlock::detail
