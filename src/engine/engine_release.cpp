// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "dlock/owner.hpp"
#include "engine/engine.hpp"
#include "engine/own_stack.hpp"
#include "engine/transaction_watch.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
constexpr microseconds between_tries = 5ms;
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

loss_reason engine::not_ours(grant& one) const noexcept {
  // While the server had to keep it, somebody has broken in. Otherwise it ran out, be it on the way of that statement.
  const auto now = shared_.now();
  return one.outlives(now) ? loss_reason::taken_over : one.why(now);
}

void engine::must_not_wait_for_itself(grant& one) const {
  bool verified_here = false;
  {
    const std::lock_guard lock(one.who->mutex);
    verified_here = one.verified > 0 && one.verified_on == std::this_thread::get_id();
  }
  if (verified_here) {
    throw std::logic_error(fmt::format(
        "dlock: key '{}': renew() inside the transaction of this thread that verified the lease and has its "
        "row locked: renew first, or after it has ended",
        printable(one.key)));
  }
  if (fault why; !shared_.may_wait(why)) {
    throw store_error(errc::store_failed, fmt::format("key '{}': renew: {}", printable(one.key), why.text), why.native,
                      why.sqlstate, false);
  }
}

void engine::renew(grant& one, microseconds ttl) {
  ensure_held(one);
  must_not_wait_for_itself(one);
  const auto sent = shared_.now();
  auto ask = one.ask(verb::extend);
  ask.ttl = ttl;
  const auto answer = this->ask(
      [&](connection& on) {
        reply got;
        shared_.where->execute(on, {&ask, 1}, {&got, 1});
        return got;
      },
      "renew");
  if (answer.result != outcome::yes) lost(one.shared_from_this(), not_ours(one));
  ensure_held(one);  // rule 4: a reply that came after the deadline revives nothing
  // Rule 8: from its sending, however long the statement waited.
  one.own_end.extend(sent + ttl - margin_for(ttl, shared_.options.margin));
  ensure_held(one);  // it may have been over meanwhile
  arm(one.shared_from_this());
}

void engine::no_longer_held() noexcept {
  const std::lock_guard lock(mutex_);
  --held_;
  ++ending_;
}

bool engine::done_with(grant& one) noexcept {
  keeper_.unlink(one);
  alarm_.clear(one);
  {
    const std::lock_guard lock(mutex_);
    --ending_;
    one.over = true;
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
    if (outcome_will_tell(*watch, one)) return ending::deferred;
    lock.lock();
    if (--one.transactions > 0 || one.leases > 0) return ending::deferred;  // entered again meanwhile
  }
  forget(one);
  return ending::last;
}

bool engine::outcome_will_tell(transaction_watch& watch, grant& one) noexcept {
  try {
    return watch.at_end(*shared_.where, [self = one.shared_from_this()] { self->home->outcome(self, false); });
  } catch (const std::bad_alloc&) {
    return false;
  }
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
  ++one.verified;
  one.verified_on = std::this_thread::get_id();
}

void engine::transaction_ended(const std::shared_ptr<grant>& one) noexcept { outcome(one, true); }

void engine::outcome(const std::shared_ptr<grant>& one, bool verified) noexcept {
  if (forked()) return;
  {
    const std::lock_guard lock(one->who->mutex);
    if (verified) --one->verified;
    if (--one->transactions > 0 || one->leases > 0) return;
    if (one->state.load() != grant_state::held) {  // nothing is left to be freed; the engine may have ended
      forget(*one);
      return;
    }
    one->outlived = true;
  }
  // On the thread that ends the transaction, from inside ODB: only queued.
  try {
    if (chores_.add({.what = chore::kind::let_go, .of = one, .give_up = instant::max()})) return;
  } catch (const std::bad_alloc&) {
  }
  let_go(one);
}

void engine::let_go(const std::shared_ptr<grant>& one) noexcept {
  {
    const std::lock_guard lock(one->who->mutex);
    if (std::exchange(one->taken, true)) return;
  }
  fault why;
  bool trusted = false;
  if (!begin_release(*one, trusted)) {  // lost
    const std::lock_guard lock(one->who->mutex);
    forget(*one);
    return;
  }
  end_release(*one, send_release(*one, why), trusted, why, [this](const event& what) {
    try {
      herald_.post({.what = what.what,
                    .key = std::string(what.key),
                    .fence = what.fence,
                    .held = what.held,
                    .text = std::string(what.text)});
    } catch (const std::bad_alloc&) {  // nobody is told
    }
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
  const bool mine = one.state.compare_exchange_strong(held, grant_state::releasing);
  trusted = trusted && mine;  // it may have been lost since: whoever did that has counted it out
  return mine;
}

engine::freed engine::finish_release(grant& one, fault& why) noexcept {
  bool trusted = false;
  if (!begin_release(one, trusted)) return freed::lost;
  return end_release(one, send_release(one, why), trusted, why);
}

engine::freed engine::end_release(grant& one, freed end, bool trusted, const fault& why,
                                  const std::function<void(const event&)>& told) noexcept {
  const auto tell = [&](const event& what) { told ? told(what) : shared_.tell(what); };
  if (end == freed::lost && trusted) {
    one.reason.store(not_ours(one));
    trusted = one.reason.load() == loss_reason::taken_over;
  }
  if (end == freed::yes) shared_.had.released(one.key, one.fence, shared_.now());
  leave_queue(one, end == freed::yes && one.min_hold.load().count() == 0);
  no_longer_held();
  if (!trusted) herald_.post(one.shared_from_this());  // before done_with(), which may end the herald
  if (const std::lock_guard lock(one.who->mutex); one.outlived)
    forget(one);  // before its owner is told that it is over
  const bool last = done_with(one);
  const auto held_for = shared_.now() - one.granted_at;
  if (end == freed::lost && trusted) {
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

/// Without memory the background does it.
engine::freed engine::send_release(grant& one, fault& why) noexcept {
  const auto begun = shared_.now();
  try {
    if (const auto end = try_release(one, begun, why); end != freed::later) return end;
  } catch (const std::bad_alloc&) {
  }
  release_later(one, begun);
  return freed::later;
}

engine::freed engine::try_release(grant& one, instant begun, fault& why) {
  const auto until = begun + shared_.options.release_limit;
  const auto ask = one.ask(verb::release);
  bool maybe_done = false;
  for (;;) {
    bool sent = false;
    auto answer = shared_.pool.run(until, 0us, [&](connection& on) {
      reply got;
      sent = true;
      ++statements_;
      shared_.where->execute(on, {&ask, 1}, {&got, 1});
      return got;
    });
    if (!sent) {
      why = std::move(answer.why);
      break;
    }
    if (answer.result == outcome::yes) return freed::yes;
    // After a try without an answer, "no" may just mean that it had been done.
    if (answer.result == outcome::no) return maybe_done ? freed::yes : freed::lost;
    maybe_done = maybe_done || answer.result == outcome::unknown;
    why = std::move(answer.why);
    // Rule 6: it names session and fence, so it may be repeated, also on another connection: the one from the
    // pool may have been dead for long. Where it can't succeed soon, the background goes on.
    const bool soon = answer.result == outcome::unknown || why.transient || why.contended || why.connection;
    if (!soon || shared_.now() + between_tries >= until) break;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    shared_.time.wait_until(never, lock, shared_.now() + between_tries);
  }
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

chore& engine::prepared_release(grant& one) noexcept {
  auto& freeing = one.spare->front();
  freeing.what = chore::kind::release;
  freeing.by = one.kept_by;
  freeing.nonce = one.nonce;
  freeing.fence = one.fence;
  return freeing;
}

void engine::release_later(grant& one, instant begun) noexcept {
  auto& freeing = prepared_release(one);
  freeing.min_hold = one.min_hold;
  freeing.give_up = begun + 2 * one.ttl + one.min_hold.load() + 10s;
  chores_.add(*one.spare);
}

}  // namespace dlock::detail
