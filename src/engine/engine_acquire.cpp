// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dlock/owner.hpp"
#include "engine/engine.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {

/// A statement gets at least so long, however short the wait: a single attempt must not fail for a slow moment.
constexpr microseconds patience = 2s;
/// Leases with an expiry of their own are asked for under this session; nothing depends on its life.
constexpr microseconds naming_class = 30s;

long long ms(microseconds value) { return std::chrono::duration_cast<std::chrono::milliseconds>(value).count(); }

verb verb_of(step what) noexcept {
  switch (what) {
    case step::insert: return verb::insert;
    case step::look: return verb::look;
    case step::take_over: return verb::take_over;
    default: return verb::take;
  }
}

}  // namespace

struct engine::attempt {
  attempt(const lock_key& name, const lock_options& how, bool single, std::shared_ptr<owner_state> whose, instant start,
          bool look_first, std::uint64_t seed)
      : key(name),
        options(how),
        once(single),
        who(std::move(whose)),
        begun(start),
        deadline(single ? start : start + how.wait),
        kept(how.renew == renewal::automatic),
        ttl(kept ? microseconds{ttl_class(how.ttl)} : microseconds{how.ttl}),
        machine({.deadline = deadline, .once = single, .look_first = look_first, .retry = how.retry, .seed = seed}) {}

  const lock_key& key;
  const lock_options& options;
  const bool once;
  const std::shared_ptr<owner_state> who;
  const instant begun;
  const instant deadline;
  const bool kept;
  const microseconds ttl;
  acquire_machine machine;
  std::shared_ptr<session> by{};  // pinned
  std::uint64_t nonce = 0;        // of the last attempt
  instant trusted_until{};        // of a grant by it
  connection_identity lost{};     // where it was sent, if it has no outcome

  microseconds own_ttl() const { return kept ? microseconds{0} : ttl; }
  instant limit(instant now) const { return std::max(deadline, now + patience); }
};

class engine::visit {
 public:
  explicit visit(engine& home) : home_(home.shared_from_this()) {
    const std::lock_guard lock(home_->mutex_);
    ++home_->under_way_;
  }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  ~visit() {
    {
      const std::lock_guard lock(home_->mutex_);
      --home_->under_way_;
    }
    home_->wind_down_if_done();
  }

 private:
  const std::shared_ptr<engine> home_;
};

lease engine::acquire(const lock_key& key, const lock_options& options, bool once) {
  refuse_if_forked();
  validate(options);
  const auto who = current_owner();
  if (auto again = reenter(key, options, who)) return again;
  const visit here(*this);
  const auto begun = shared_.now();
  bool waited = false;
  for (;;) {
    if (closed_.stop_requested()) throw lock_refused(errc::closed, fmt::format("key '{}'", printable(key)));
    if (fault why; !shared_.where->caller_may_wait(why)) {
      throw store_error(errc::store_failed, fmt::format("key '{}': {}", printable(key), why.text), why.native,
                        why.sqlstate, false);
    }
    if (shared_.queue.try_enter(key)) break;
    if (once) {
      shared_.tell({.what = event::kind::busy, .key = key.view()});
      return {};
    }
    const auto turn = options.wait > 0ms ? stand_in_line(key, options, *who, begun) : local_queue::turn::timed_out;
    waited = true;
    if (turn == local_queue::turn::mine) {
      if (!closed_.stop_requested()) break;
      shared_.queue.leave(key);  // the turn came together with close(): no new leases after that
      continue;
    }
    if (turn != local_queue::turn::reenter) wait_turn(turn, key, begun);
    if (auto again = reenter(key, options, who)) return again;
  }
  return drive(key, options, once, who, begun, waited);
}

local_queue::turn engine::stand_in_line(const lock_key& key, const lock_options& options, owner_state& who,
                                        instant begun) {
  const auto held = [&] {
    const std::lock_guard lock(who.mutex);
    return find_held(who, key) != nullptr;
  };
  std::stop_source either;  // the caller and close() may both end the waiting
  const auto end = [&either] { either.request_stop(); };
  const std::stop_callback on_close(closed_.get_token(), end);
  const std::stop_callback on_cancel(options.cancel, end);
  return shared_.queue.enter(key, options.again == reentry::busy ? nullptr : &who, begun + options.wait,
                             either.get_token(), held);
}

void engine::wait_turn(local_queue::turn end, const lock_key& key, instant begun) {
  const auto waited = shared_.now() - begun;
  const auto text = fmt::format("key '{}': waited {} ms", printable(key), ms(waited));
  shared_.tell({.what = event::kind::busy, .key = key.view(), .waited = waited});
  switch (end) {
    case local_queue::turn::cancelled:
      throw lock_refused(closed_.stop_requested() ? errc::closed : errc::cancelled, text);
    case local_queue::turn::too_many:
      throw lock_refused(errc::too_many_waiters,
                         fmt::format("key '{}': max_waiters = {}", printable(key), shared_.options.max_waiters));
    default: throw lock_timeout(text + ", held by or waited for by other threads of this process");
  }
}

std::shared_ptr<grant> engine::find_held(const owner_state& who, const lock_key& key) const {
  const auto found = std::find_if(who.held.begin(), who.held.end(), [&](const auto& one) {
    return one->key.hash() == key.hash() && one->key == key && one->home.get() == this;
  });
  return found == who.held.end() ? nullptr : *found;
}

lease engine::reenter(const lock_key& key, const lock_options& options, const std::shared_ptr<owner_state>& who) {
  if (options.again == reentry::busy) return {};
  std::shared_ptr<grant> mine;
  {
    const std::lock_guard lock(who->mutex);
    mine = find_held(*who, key);
    if (mine == nullptr) return {};
    if (options.again == reentry::allow) ++mine->leases;
  }
  if (options.again == reentry::refuse) {
    throw lock_refused(errc::already_held,
                       fmt::format("key '{}': already yours, with fence {}", printable(key), mine->fence));
  }
  lease again(mine, true);  // counts down again whatever happens below
  ensure_held(*mine);       // a lost lease can't be entered again: what was done under it is not to be trusted
  // Kept: the session's ttl holds. Own expiry: only ever extended, by one statement, if the inner ttl ends later.
  if (!mine->kept && mine->own_end.left(shared_.now()) + mine->margin < options.ttl) renew(*mine, options.ttl);
  shared_.tell({.what = event::kind::reentered, .key = key.view(), .fence = mine->fence});
  return again;
}

lease engine::drive(const lock_key& key, const lock_options& options, bool once, std::shared_ptr<owner_state> who,
                    instant begun, bool look_first) {
  attempt a(key, options, once, std::move(who), begun, look_first, shared_.nonces.fetch_add(1));
  // Whatever happens, the turn goes on and nothing stays pinned; a grant takes both over.
  struct cleanup {
    engine& home;
    attempt& of;
    bool armed = true;
    ~cleanup() {
      if (armed) home.shared_.queue.leave(of.key);
      if (of.by != nullptr) home.keeper_.unpin(*of.by);
    }
  } guard{*this, a};
  for (step next = a.machine.begin();;) {
    switch (next) {
      case step::pause: next = rest(a); break;
      case step::resolve: next = resolve(a); break;
      case step::give_back: next = give_back(a); break;
      case step::granted:
        if (auto mine = granted(a)) {
          guard.armed = false;
          return mine;
        }
        next = give_back(a);
        break;
      case step::busy:
        shared_.tell({.what = event::kind::busy,
                      .key = key.view(),
                      .waited = shared_.now() - begun,
                      .attempts = a.machine.statements()});
        if (once) return {};
        refused(a);
      case step::failed: refused(a);
      default: next = send(a, next);
    }
  }
}

bool engine::pinned(attempt& a, fault& why) {
  if (a.by != nullptr && a.by->deadline.left(shared_.now()) > 0us) return true;
  if (a.by != nullptr) keeper_.unpin(*std::exchange(a.by, nullptr));
  a.by = keeper_.pin(a.kept ? a.ttl : naming_class, a.limit(shared_.now()), why);
  return a.by != nullptr;
}

step engine::send(attempt& a, step what) {
  fault why;
  const bool grants = what == step::take || what == step::insert || what == step::take_over;
  if (grants && !pinned(a, why)) return a.machine.not_sent(why, shared_.now());
  const auto on = shared_.pool.get(a.limit(shared_.now()), patience, why);
  if (!on) return a.machine.not_sent(why, shared_.now());
  reply answer;
  const auto sent = shared_.now();
  ++statements_;
  if (what == step::kill) {
    answer = shared_.where->session(*on, session_verb::kill, {.id = a.machine.holder().holder});
  } else {
    if (grants) a.nonce = shared_.nonces.fetch_add(1);
    const request ask{.what = verb_of(what),
                      .resource = a.key.view(),
                      .session = a.by != nullptr ? a.by->id : id128{},
                      .nonce = a.nonce,
                      .own_ttl = a.own_ttl(),
                      .of = what == step::take_over ? a.machine.holder() : seen{}};
    shared_.where->execute(*on, {&ask, 1}, {&answer, 1});
  }
  const auto now = shared_.now();
  if (answer.what == outcome::unknown) a.lost = (*on).identity();
  // Rule 4: by the deadline of the very session that it was asked with; an expiry of its own counts from the
  // sending (rule 8: the server's clock stood still while the statement waited).
  a.trusted_until = a.kept ? (grants ? now + a.by->deadline.left(now) : instant::max())
                           : sent + a.ttl - margin_for(a.ttl, shared_.options.margin);
  return a.machine.replied(answer, now, a.trusted_until);
}

step engine::resolve(attempt& a) {
  shared_.tell({.what = event::kind::outcome_unknown, .key = a.key.view(), .text = a.machine.why().text});
  chore undo{.what = chore::kind::cancel,
             .by = a.by,
             .key = a.key,
             .nonce = a.nonce,
             .lost = std::move(a.lost),
             .kept = a.kept,
             .give_up = instant::max()};
  if (!chores_.attempt(undo, patience / 2)) {
    keeper_.haunted(a.by);
    chores_.add(std::move(undo));
  }
  return a.machine.resolved(shared_.now());
}

step engine::rest(attempt& a) {
  // Not an engine-wide condition: a cancellation wakes just its own waiter.
  std::mutex mutex;
  std::condition_variable wake;
  bool cancelled = false;
  const auto end = [&] {
    const std::lock_guard lock(mutex);
    cancelled = true;
    wake.notify_all();
  };
  {
    const std::stop_callback on_cancel(a.options.cancel, end);
    const std::stop_callback on_close(closed_.get_token(), end);
    const auto until = shared_.now() + a.machine.pause();
    std::unique_lock lock(mutex);
    while (!cancelled && shared_.now() < until) shared_.time.wait_until(wake, lock, until);
  }
  if (!cancelled) return a.machine.paused();
  const auto waited = shared_.now() - a.begun;
  shared_.tell({.what = event::kind::busy, .key = a.key.view(), .waited = waited});
  throw lock_refused(a.options.cancel.stop_requested() ? errc::cancelled : errc::closed,
                     fmt::format("key '{}': waited {} ms", printable(a.key), ms(waited)));
}

step engine::give_back(attempt& a) {
  // Rule 4: a grant that came too late is released, not handed out.
  chore undo{.what = chore::kind::release,
             .by = a.by,
             .key = a.key,
             .fence = a.machine.fence(),
             .give_up = shared_.now() + 2 * a.ttl + 10s};
  if (!chores_.attempt(undo, patience / 2)) chores_.add(std::move(undo));
  return a.machine.given_back(shared_.now());
}

lease engine::granted(attempt& a) {
  auto one = std::make_shared<grant>(shared_from_this(), a.key);
  one->kept_by = a.by;
  one->who = a.who;
  one->fence = a.machine.fence();
  one->kept = a.kept;
  one->renewable = a.options.renew == renewal::manual;
  one->ttl = a.ttl;
  one->margin = margin_for(a.ttl, shared_.options.margin);
  one->min_hold = a.options.min_hold;
  one->granted_at = shared_.now();
  if (!a.kept) one->own_end.reset(a.trusted_until);
  if (a.options.max_hold > 0ms) one->cap = one->granted_at + a.options.max_hold;
  {
    // Counted before it can be lost.
    const std::lock_guard lock(mutex_);
    ++held_;
  }
  if (!keeper_.link(*one)) {
    const std::lock_guard lock(mutex_);
    --held_;
    return {};
  }
  a.by = nullptr;  // the grant has the pin now
  lease mine(one, false);
  {
    const std::lock_guard lock(one->who->mutex);
    one->who->held.push_back(one);
  }
  arm(one);
  shared_.queue.granted(a.key, one->who.get());
  shared_.tell({.what = event::kind::granted,
                .key = a.key.view(),
                .fence = one->fence,
                .waited = one->granted_at - a.begun,
                .attempts = a.machine.statements(),
                .taken_over = a.machine.taken_over()});
  return mine;
}

void engine::refused(attempt& a) {
  const auto& m = a.machine;
  const auto waited = ms(shared_.now() - a.begun);
  if (m.why().text.empty()) {
    throw lock_timeout(fmt::format("key '{}': waited {} ms{}", printable(a.key), waited,
                                   m.holder().who.empty() ? "" : ", held by " + m.holder().who));
  }
  const auto text =
      fmt::format("key '{}': after {} ms: {}: {}", printable(a.key), waited, shared_.where->name(), m.why().text);
  shared_.tell({.what = event::kind::acquire_failed, .key = a.key.view(), .text = text});
  const auto code = m.outcome_unknown()  ? errc::outcome_unknown
                    : m.why().connection ? errc::store_unreachable
                                         : errc::store_failed;
  throw store_error(code, text, m.why().native, m.why().sqlstate, m.why().transient);
}

}  // namespace dlock::detail
