// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
constexpr microseconds between_tries = 5ms;
/// So long a key that was lost waits to be freed until its holder has been told.
constexpr microseconds long_enough = 1s;
}  // namespace

void engine::ensure_held(grant& one) const {
  const auto now = shared_.now();
  if (one.left(now) > 0us) return;
  const auto reason = one.why(now);
  throw lock_lost(reason, fmt::format("key '{}': lost {} ms after the grant: {}", printable(one.key),
                                      (now - one.granted_at).count() / 1000, to_string(reason)));
}

void engine::renew(grant& one, microseconds ttl) {
  ensure_held(one);
  const auto sent = shared_.now();
  const request ask{
      .what = verb::extend, .resource = one.key.view(), .session = one.kept_by->id, .fence = one.fence, .own_ttl = ttl};
  const auto answer = this->ask(
      [&](connection& on) {
        reply got;
        shared_.where->execute(on, {&ask, 1}, {&got, 1});
        return got;
      },
      "renew");
  if (answer.what != outcome::yes) lost(one.shared_from_this(), loss_reason::taken_over);
  ensure_held(one);  // rule 4: a reply that came after the deadline revives nothing
  // Rule 8: from its sending, however long the statement waited.
  one.own_end.extend(sent + ttl - margin_for(ttl, shared_.options.margin));
  ensure_held(one);  // it may have been over meanwhile
  arm(one.shared_from_this());
}

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
  shared_.queue.leave(one->key);
  herald_.post(one);
  // Rule 12: lost first, then the release. Rule 5: by session and fence, so that it can only ever free this grant.
  chores_.add({.what = chore::kind::release,
               .by = one->kept_by,
               .key = one->key,
               .fence = one->fence,
               .give_up = shared_.now() + 2 * one->ttl + 10s,
               .untold = one,
               .not_before = shared_.now() + long_enough});
  done_with(*one);
}

void engine::session_over(std::shared_ptr<session> one, std::vector<std::shared_ptr<grant>> held, loss_reason reason) {
  if (one != nullptr) {
    if (reason != loss_reason::none) {
      herald_.post({.what = event::kind::session_lost, .reason = reason, .text = one->id.hex()});
    }
    // Nobody trusts anything of it any more. Before the releases, which are many: without its row all it holds, and may
    // still be granted, is free to others at once.
    chores_.add({.what = chore::kind::close,
                 .by = std::move(one),
                 .give_up = shared_.now() + 1min,
                 .untold = held.empty() ? nullptr : held.back(),  // they are told in order
                 .not_before = shared_.now() + long_enough});
  }
  for (const auto& each : held) lost(each, reason);
}

bool engine::done_with(grant& one) noexcept {
  keeper_.unlink(one);
  alarm_.clear(one);
  {
    const std::lock_guard lock(mutex_);
    --held_;
  }
  return wind_down_if_done();
}

engine::freed engine::release(grant& one, fault& why) noexcept {
  {
    auto& who = *one.who;
    const std::lock_guard lock(who.mutex);
    if (--one.leases > 0) return one.left(shared_.now()) > 0us ? freed::inner : freed::lost;
    const auto at =
        std::find_if(who.held.begin(), who.held.end(), [&](const auto& each) { return each.get() == &one; });
    if (at != who.held.end()) {
      *at = std::move(who.held.back());
      who.held.pop_back();
    }
  }
  // Rule 4: trust ends before the release is sent, not when it is answered.
  const auto now = shared_.now();
  const bool trusted = one.left(now) > 0us;
  if (!trusted) {
    auto none = loss_reason::none;
    one.reason.compare_exchange_strong(none, one.why(now));
  }
  auto held = grant_state::held;
  if (!one.state.compare_exchange_strong(held, grant_state::releasing)) return freed::lost;
  auto end = send_release(one, why);
  shared_.queue.leave(one.key);
  if (!trusted) herald_.post(one.shared_from_this());  // before done_with(), which may end the herald
  const bool last = done_with(one);
  const auto held_for = shared_.now() - one.granted_at;
  if (end == freed::lost && trusted) {
    one.reason.store(loss_reason::taken_over);
    shared_.tell({.what = event::kind::split_found, .key = one.key.view(), .fence = one.fence, .held = held_for});
  } else if (end == freed::later) {
    shared_.tell({.what = event::kind::release_failed, .key = one.key.view(), .fence = one.fence, .text = why.text});
  } else if (trusted) {
    shared_.tell({.what = event::kind::released, .key = one.key.view(), .fence = one.fence, .held = held_for});
  }
  // The last lease, after the service: nothing of it runs any more when its destructor returns.
  if (last) see_off(shared_.options.release_limit);
  return trusted ? end : freed::lost;
}

engine::freed engine::send_release(grant& one, fault& why) {
  const auto begun = shared_.now();
  const auto until = begun + shared_.options.release_limit;
  const request ask{.what = verb::release,
                    .resource = one.key.view(),
                    .session = one.kept_by->id,
                    .fence = one.fence,
                    .min_hold = one.min_hold};
  bool maybe_done = false;
  for (;;) {
    reply answer;
    {
      const auto on = shared_.pool.get(until, std::max<microseconds>(until - shared_.now(), between_tries), why);
      if (!on) break;
      ++statements_;
      shared_.where->execute(*on, {&ask, 1}, {&answer, 1});
    }
    if (answer.what == outcome::yes) return freed::yes;
    // After a try without an answer, "no" may just mean that it had been done.
    if (answer.what == outcome::no) return maybe_done ? freed::yes : freed::lost;
    maybe_done = maybe_done || answer.what == outcome::unknown;
    why = std::move(answer.why);
    // Rule 6: it names session and fence, so it may be repeated, also on another connection: the one from the
    // pool may have been dead for long. Where it can't succeed soon, the background goes on.
    const bool soon = answer.what == outcome::unknown || why.transient || why.contended || why.connection;
    if (!soon || shared_.now() + between_tries >= until) break;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    shared_.time.wait_until(never, lock, shared_.now() + between_tries);
  }
  chores_.add({.what = chore::kind::release,
               .by = one.kept_by,
               .key = one.key,
               .fence = one.fence,
               .min_hold = one.min_hold,
               .give_up = begun + 2 * one.ttl + one.min_hold + 10s});
  return freed::later;
}

}  // namespace dlock::detail
