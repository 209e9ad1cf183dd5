// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/reentry_attempt.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

namespace {

renewal renewal_of(const grant& grant) noexcept {
  if (grant.kind != lease_kind::expiring) return renewal::automatic;
  return grant.renewable ? renewal::manual : renewal::none;
}

const char* name_of(renewal renewal) noexcept {
  switch (renewal) {
    case renewal::automatic: return "automatic";
    case renewal::none: return "none";
    case renewal::manual: break;
  }
  return "manual";
}

}  // namespace

reentry_attempt::~reentry_attempt() {
  if (held_ != nullptr)
    services_.grants.leave_in_background(held_, last_);  // the lease was counted, and no caller got it
}

reentry_attempt::found reentry_attempt::find(const owner_state& owner, bool named, const lock_key& key, instant now) {
  last_ = now;
  const auto again = terms_.reentry;
  if (owner.grants.load(std::memory_order_relaxed) == 0) return found::nothing;
  auto mine = services_.table.find(owner, key, named, again == reentry::allow, terms_.mode);
  if (mine.held == nullptr) return found::nothing;
  if (mine.held->mode != exclusive && mine.held->mode != terms_.mode) {
    const bool by_mutex = mine.held->anchor.load(std::memory_order_relaxed) == &grant::by_mutex;
    const bool waits_for_itself = (mine.within_reach || by_mutex) && !mine.without_lease;
    if (terms_.mode != exclusive || !waits_for_itself || again == reentry::busy) return found::nothing;
    throw lock_deadlock(fmt::format(
        "key '{}': this owner holds it {}, and would wait for itself if it waited for the exclusive lock: release "
        "that first, or take the exclusive lock from the beginning",
        printable(key), mine.held->mode == shared ? "shared" : "by a permit"));
  }
  if (mine.being_freed) return found::being_freed;
  if (mine.entered) {
    held_ = std::move(mine.held);
    first_ = mine.first;
    return found::entered;
  }
  if (again != reentry::busy) refuse(*mine.held, now);
  return found::nothing;
}

void reentry_attempt::refuse(grant& mine, instant now) const {
  const bool by_mutex = mine.anchor.load(std::memory_order_relaxed) == &grant::by_mutex;
  if (terms_.reentry == reentry::allow) {
    if (!by_mutex) return;  // a grant of this thread that is out of its reach counts as one of another owner
    ensure_held(mine, now);
  }
  throw lock_refused(
      errc::already_held,
      fmt::format("key '{}': already yours{}{}", printable(mine.key),
                  mine.fenced ? fmt::format(", with fence {}", mine.shown()) : "",
                  by_mutex ? ", by a distributed_mutex: waiting for it would be waiting for yourself" : ""));
}

/// Applies the options of an inner lease to the grant, which it shares with the outer one, or refuses them.
void reentry_attempt::honour(instant now) const {
  auto& grant = *held_;
  const auto refuse = [&](const std::string& refusal) {
    throw std::invalid_argument(fmt::format(
        "dlock: key '{}': {}; the owner holds it already, and an inner lease can't change that of the outer one "
        "(reentry::refuse and reentry::busy don't enter it)",
        printable(grant.key), refusal));
  };
  if (const auto has = renewal_of(grant); terms_.renewal != has) {
    refuse(fmt::format("renewal = {}: the lease that is held has renewal::{}", name_of(terms_.renewal), name_of(has)));
  }
  const auto cap = grant.deadline == nullptr ? instant::max() : grant.deadline->cap;
  if (terms_.max_hold.count() > 0 && now + terms_.max_hold < cap) {
    refuse(fmt::format("max_hold = {} ms: the lease that is held {}", terms_.max_hold.count(),
                       cap == instant::max() ? "has no such bound" : fmt::format("ends in {} ms", in_ms(cap - now))));
  }
  if (terms_.min_hold.count() == 0) return;
  const microseconds wanted = now - grant.asked_at + terms_.min_hold;
  auto before = grant.min_hold.load();
  while (before < wanted && !grant.min_hold.compare_exchange_weak(before, wanted)) {
  }
}

bool reentry_attempt::check(instant now) {
  last_ = now;
  ensure_held(*held_, now);  // a lost lease can't be entered again, because what was done under it can't be trusted
  const bool plain = terms_.min_hold.count() == 0 && terms_.max_hold.count() == 0 && held_->kind == lease_kind::session;
  if (plain && terms_.renewal == renewal::automatic) return false;
  honour(now);
  // If a session or the engine's renewals keep the lease, its ttl stays. A separate expiry is extended by one statement
  // if the inner ttl ends later; it is never shortened.
  const auto margin = margin_for(held_->ttl, services_.shared.options.margin);
  // Its row is locked by the transaction that verified it: an extension would wait for that. Until the transaction
  // ends, no other owner can be granted the key.
  if (services_.table.verified_here(*held_)) return false;
  return held_->kind == lease_kind::expiring && held_->deadline->own_end.remaining(now) + margin < terms_.ttl;
}

task<void> reentry_attempt::extend(flow& f) {
  return extend_lease(f, services_, held_, terms_.ttl, "acquire, to extend the lease that is held");
}

acquired reentry_attempt::take() noexcept {
  services_.shared.notify({.what = event::kind::reentered, .key = held_->key.view(), .fence = held_->fence_shown()});
  return {.held = std::move(held_), .entered_again = true, .first = first_};
}

task<void> reentry_attempt::enter(flow& f) {
  if (check(f.now())) co_await extend(f);
}

}  // namespace dlock::engine
