// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "dlock/owner.hpp"
#include "engine/engine.hpp"
#include "engine/own_stack.hpp"
#include "engine/transaction_watch.hpp"

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
                                      (now - one.granted_at).count() / 1000, explain(reason)));
}

std::string_view engine::explain(loss_reason reason) noexcept {
  return reason == loss_reason::taken_over ? "another holder has it, or its row was deleted" : to_string(reason);
}

void engine::renew(grant& one, microseconds ttl) {
  ensure_held(one);
  const auto sent = shared_.now();
  auto ask = one.ask(verb::extend);
  ask.own_ttl = ttl;
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
  leave_queue(*one);
  herald_.post(one);
  // Rule 12: lost first, then the release. Rule 5: by session and fence, so that it can only ever free this grant.
  chores_.add({.what = chore::kind::release,
               .by = one->kept_by,
               .key = one->key,
               .nonce = one->nonce,
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

engine::ending engine::leave(grant& one) noexcept {
  // The watch is asked without the mutex: it may have a question for the database, and calls back.
  auto* const watch = watched_transactions();
  const bool open = watch != nullptr && watch->open_here(*shared_.where);
  std::unique_lock lock(one.who->mutex);
  if (--one.leases > 0) return ending::inner;
  // Until a transaction's outcome the thread that holds it may enter it again from wherever it is.
  if (one.transactions > 0 || open) one.anchor.store(is_own_owner(*one.who) ? end_of_own_stack() : nullptr);
  if (one.transactions > 0) return ending::deferred;
  if (open && one.left(shared_.now()) > 0us) {  // what was lost is not waited for
    // What was written under the lock is not visible yet: the next holder would read what was there before.
    ++one.transactions;
    lock.unlock();
    if (watch->at_end(*shared_.where, [self = one.shared_from_this()] { self->home->transaction_ended(self); })) {
      return ending::deferred;
    }
    lock.lock();
    if (--one.transactions > 0 || one.leases > 0) return ending::deferred;  // entered again meanwhile
  }
  forget(one);
  return ending::last;
}

bool engine::forget(grant& one) noexcept {
  auto& held = one.who->held;
  const auto at = std::find_if(held.begin(), held.end(), [&](const auto& each) { return each.get() == &one; });
  if (at == held.end()) return false;
  *at = std::move(held.back());
  held.pop_back();
  return true;
}

bool engine::sole(grant& one) const noexcept {
  const std::lock_guard lock(one.who->mutex);
  return one.leases == 1 && one.transactions == 0;
}

void engine::in_transaction(grant& one) noexcept {
  const std::lock_guard lock(one.who->mutex);
  ++one.transactions;
}

void engine::transaction_ended(const std::shared_ptr<grant>& one) noexcept {
  if (forked()) return;
  {
    const std::lock_guard lock(one->who->mutex);
    if (--one->transactions > 0 || one->leases > 0) return;
    if (one->state.load() != grant_state::held) {  // nothing is left to be freed; the engine may have ended
      forget(*one);
      return;
    }
  }
  // On the thread that ends the transaction, from inside ODB: only queued.
  if (!chores_.add({.what = chore::kind::let_go, .of = one, .give_up = instant::max()})) let_go(one);
}

void engine::let_go(const std::shared_ptr<grant>& one) noexcept {
  {
    const std::lock_guard lock(one->who->mutex);
    // Entered again meanwhile; or that was left again as well, and whoever did that finishes it.
    if (one->transactions > 0 || one->leases > 0 || !forget(*one)) return;
  }
  fault why;
  bool trusted = false;
  if (!begin_release(*one, trusted)) return;
  end_release(*one, send_release(*one, why), trusted, why, [this](const event& what) {
    herald_.post({.what = what.what,
                  .key = std::string(what.key),
                  .fence = what.fence,
                  .held = what.held,
                  .text = std::string(what.text)});
  });
}

engine::freed engine::release(grant& one, fault& why) noexcept {
  if (leave(one) != ending::last) return one.left(shared_.now()) > 0us ? freed::inner : freed::lost;
  return finish_release(one, why);
}

bool engine::begin_release(grant& one, bool& trusted) noexcept {
  // Rule 4: trust ends before the release is sent, not when it is answered.
  const auto now = shared_.now();
  trusted = one.left(now) > 0us;
  if (!trusted) {
    auto none = loss_reason::none;
    one.reason.compare_exchange_strong(none, one.why(now));
  }
  auto held = grant_state::held;
  return one.state.compare_exchange_strong(held, grant_state::releasing);
}

engine::freed engine::finish_release(grant& one, fault& why) noexcept {
  bool trusted = false;
  if (!begin_release(one, trusted)) return freed::lost;
  return end_release(one, send_release(one, why), trusted, why);
}

engine::freed engine::end_release(grant& one, freed end, bool trusted, const fault& why,
                                  const std::function<void(const event&)>& told) noexcept {
  const auto tell = [&](const event& what) { told ? told(what) : shared_.tell(what); };
  if (end == freed::yes) shared_.had.released(one.key, one.fence, shared_.now());
  leave_queue(one, end == freed::yes && one.min_hold.load().count() == 0);
  if (!trusted) herald_.post(one.shared_from_this());  // before done_with(), which may end the herald
  const bool last = done_with(one);
  const auto held_for = shared_.now() - one.granted_at;
  if (end == freed::lost && trusted) {
    one.reason.store(loss_reason::taken_over);
    tell({.what = event::kind::split_found, .key = one.key.view(), .fence = one.fence, .held = held_for});
  } else if (end == freed::later) {
    tell({.what = event::kind::release_failed, .key = one.key.view(), .fence = one.fence, .text = why.text});
  } else if (trusted) {
    tell({.what = event::kind::released, .key = one.key.view(), .fence = one.fence, .held = held_for});
  }
  // The last lease, after the service: nothing of it runs any more when its destructor returns.
  if (last) see_off(shared_.options.release_limit);
  return trusted ? end : freed::lost;
}

void engine::leave_queue(const grant& one, bool is_free) noexcept {
  if (one.has_turn) shared_.queue.leave(one.key, is_free);
}

bool engine::release_by(grant& one, const std::function<bool()>& free) {
  {
    const std::lock_guard lock(one.who->mutex);
    if (one.leases != 1 || one.transactions > 0) return false;
    one.leases = 0;
    forget(one);
  }
  fault why;
  bool trusted = false;
  const bool mine = begin_release(one, trusted);
  if (!trusted) {
    if (mine) end_release(one, send_release(one, why), trusted, why);
    ensure_held(one);
  }
  bool done = false;
  try {
    done = free();
  } catch (...) {
    // Rolled back, or nobody knows: by session and fence it can be tried whatever became of it.
    end_release(one, send_release(one, why), trusted, why);
    throw;
  }
  auto end = done ? freed::yes : send_release(one, why);
  if (end == freed::lost) end = freed::yes;  // what had no answer had freed it
  end_release(one, end, trusted, why);
  return true;
}

engine::freed engine::send_release(grant& one, fault& why) {
  const auto begun = shared_.now();
  const auto until = begun + shared_.options.release_limit;
  const auto ask = one.ask(verb::release);
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
  release_later(one, begun);
  return freed::later;
}

void engine::abandon(owner_state& of, bool all) noexcept {
  std::vector<std::shared_ptr<grant>> left;
  try {
    const std::lock_guard lock(of.mutex);
    for (const auto& one : of.held) {
      const auto* const at = one->anchor.load();
      const bool mine = on_own_stack(at) || (all && at == &grant::by_mutex);
      if (mine && one->leases > 0 && one->transactions == 0) left.push_back(one);
    }
    for (const auto& one : left) one->home->forget(*one);
  } catch (const std::bad_alloc&) {  // their ttl ends them
  }
  auto* const watch = watched_transactions();
  for (const auto& one : left) {
    auto& home = *one->home;
    // Of what a transaction wrote under it nobody knows the outcome: that comes with the end of its connection.
    if (watch != nullptr && watch->open_here(*home.shared_.where)) continue;
    fault why;
    if (home.finish_release(*one, why) == freed::later) return;  // the store is away: no waiting for each of them
  }
}

void engine::release_later(const grant& one, instant begun) {
  chores_.add({.what = chore::kind::release,
               .by = one.kept_by,
               .key = one.key,
               .nonce = one.nonce,
               .fence = one.fence,
               .min_hold = one.min_hold,
               .give_up = begun + 2 * one.ttl + one.min_hold.load() + 10s});
}

}  // namespace dlock::detail
