// SPDX-License-Identifier: GPL-2.0-or-later
// A key that its owner has already.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/attempt.hpp"
#include "engine/own_stack.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

const char grant::by_mutex = 0;

namespace {

/// Whether the caller may enter a grant of its owner's again: one whose lease stands in a call of this thread that has
/// not returned, or any, where the program said in whose name it acts.
bool may_enter(const grant& one) noexcept {
  return in_owner_scope() || on_own_stack(one.anchor.load(std::memory_order_relaxed));
}

renewal renewal_of(const grant& one) noexcept {
  if (one.kept || one.column) return renewal::automatic;
  return one.renewable ? renewal::manual : renewal::none;
}

const char* name_of(renewal how) noexcept {
  switch (how) {
    case renewal::automatic: return "automatic";
    case renewal::none: return "none";
    case renewal::manual: break;
  }
  return "manual";
}

}  // namespace

/// Of a key that this process has: who keeps the caller waiting.
std::string engine::in_this_process(const lock_key& key, owner_state& who) const {
  const std::lock_guard lock(who.mutex);
  if (find_held(who, key) == nullptr) return ", held or waited for by other threads of this process";
  return ": this thread holds it itself, by a lease that is not on its stack (in a coroutine, on the heap, or moved to "
         "another thread) and so is not entered again; a task that is to enter again needs an owner of its own "
         "(dlock::owner_scope)";
}

/// Of several, which there may be after a loss, the one that may be entered.
std::shared_ptr<grant> engine::find_held(const owner_state& who, const lock_key& key) const {
  std::shared_ptr<grant> found;
  for (const auto& one : who.held) {
    if (one->key.hash() != key.hash() || one->key != key || one->home.get() != this) continue;
    if (may_enter(*one)) return one;
    if (found == nullptr) found = one;
  }
  return found;
}

bool engine::holds(const lock_key& key) const {
  refuse_if_forked();
  const auto& who = current_owner();
  const std::lock_guard lock(who->mutex);
  const auto mine = find_held(*who, key);
  if (mine == nullptr || mine->leases == 0) return false;
  const bool reachable = may_enter(*mine) || mine->anchor.load(std::memory_order_relaxed) == &grant::by_mutex;
  return reachable && mine->left(shared_.now()) > 0us;
}

void engine::refuse_held(grant& mine, reentry again) const {
  const bool by_mutex = mine.anchor.load(std::memory_order_relaxed) == &grant::by_mutex;
  if (again == reentry::allow) {
    if (!by_mutex) return;
    ensure_held(mine);
  }
  throw lock_refused(
      errc::already_held,
      fmt::format("key '{}': already yours, with fence {}{}", printable(mine.key), mine.fence,
                  by_mutex ? ", by a distributed_mutex: waiting for it would be waiting for yourself" : ""));
}

/// What a transaction's outcome has left to be released of this owner's is released before the key is acquired anew: here,
/// or by the background, which is waited for. An entry into it would hang on the options of a lease that has ended, and
/// for its owner the key is free: also for one attempt.
void engine::see_out(const std::shared_ptr<grant>& one) {
  if (fault why; !shared_.may_wait(why)) return;
  let_go(one);
  std::unique_lock lock(mutex_);
  const auto until = shared_.now() + shared_.options.release_limit;
  while (!one->over && shared_.now() < until) shared_.time.wait_until(changed_, lock, until);
}

lease engine::reenter(const lock_key& key, const lock_settings& options, const std::shared_ptr<owner_state>& who) {
  std::shared_ptr<grant> mine;
  bool enter = false;
  bool first = false;
  for (bool seen_out = false;; seen_out = true) {
    {
      const std::lock_guard lock(who->mutex);
      mine = find_held(*who, key);
      if (mine == nullptr) return {};
      if (!mine->outlived) {
        if (options.reentry == reentry::busy) return {};
        enter = options.reentry == reentry::allow && may_enter(*mine);
        if (enter)
          first = mine->leases++ == 0;  // the one before has ended, and the key waits for a transaction's outcome
        break;
      }
    }
    if (seen_out) return {};
    see_out(mine);
  }
  if (!enter) {
    refuse_held(*mine, options.reentry);
    return {};  // its own grant, but out of its reach: it is a stranger to it
  }
  lease again(std::move(mine), true, first);  // counts down again whatever happens below
  auto& entered = *again.grant_;
  ensure_held(entered);  // a lost lease can't be entered again: what was done under it is not to be trusted
  honour(entered, options);
  // Kept, by a session or by renewals of the row: the ttl of that holds. Own expiry: only ever extended, by one statement,
  // if the inner ttl ends later.
  if (!entered.kept && !entered.column && entered.own_end.left(shared_.now()) + entered.margin < options.ttl)
    renew(entered, options.ttl);
  shared_.tell({.what = event::kind::reentered, .key = key.view(), .fence = entered.fence});
  return again;
}

/// What the options of an inner lease ask for holds for it, too, or is refused: it shares the grant with the outer one.
void engine::honour(grant& of, const lock_settings& options) const {
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument(fmt::format(
        "dlock: key '{}': {}; the owner holds it already, and an inner lease can't change that of the outer one "
        "(reentry::refuse and reentry::busy don't enter it)",
        printable(of.key), what));
  };
  if (const auto has = renewal_of(of); options.renewal != has) {
    refuse(fmt::format("renewal = {}: the lease that is held has renewal::{}", name_of(options.renewal), name_of(has)));
  }
  const auto now = shared_.now();
  if (options.max_hold > 0ms && now + options.max_hold < of.cap) {
    refuse(
        fmt::format("max_hold = {} ms: the lease that is held {}", options.max_hold.count(),
                    of.cap == instant::max() ? "has no such bound" : fmt::format("ends in {} ms", ms(of.cap - now))));
  }
  if (options.min_hold > 0ms) {
    const std::lock_guard lock(of.who->mutex);
    of.min_hold = std::max<microseconds>(of.min_hold, now - of.asked_at + options.min_hold);
  }
}

}  // namespace dlock::detail
