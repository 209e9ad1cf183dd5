// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/attempt.hpp"
#include "engine/transaction_watch.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {

verb verb_of(step what) noexcept {
  switch (what) {
    case step::insert: return verb::insert;
    case step::look: return verb::look;
    case step::take_over: return verb::take_over;
    default: return verb::take;
  }
}

}  // namespace

lease engine::acquire(const lock_key& key, const lock_settings& options, bool once, single& how) {
  refuse_if_forked();
  validate(options, shared_.options);
  check_row(key, options);
  check_cancelled(key, options);
  const auto& who = current_owner();
  if (auto again = reenter(key, options, who)) return again;
  const visit here(*this);
  const auto begun = shared_.now();
  check_transaction(key);
  const auto in_line = once ? how.patience : options.wait;
  bool look_first = false;
  for (;;) {
    if (closed_.stop_requested()) throw lock_refused(errc::closed, fmt::format("key '{}'", printable(key)));
    if (fault why; !shared_.may_wait(why)) {
      throw store_error(errc::store_failed, fmt::format("key '{}': {}", printable(key), why.text), why.native,
                        why.sqlstate, false);
    }
    if (shared_.queue.try_enter(key)) break;
    const auto turn = in_line > 0us ? stand_in_line(key, options, *who, begun + in_line) : local_queue::turn::timed_out;
    if (turn == local_queue::turn::mine || turn == local_queue::turn::freed) {
      look_first = turn == local_queue::turn::mine;
      if (!closed_.stop_requested()) break;
      shared_.queue.leave(key);  // the turn came together with close(): no new leases after that
      continue;
    }
    if (once && turn != local_queue::turn::cancelled) {
      how.here = true;
      shared_.tell({.what = event::kind::busy, .key = key.view()});
      return {};
    }
    if (turn != local_queue::turn::reenter) wait_turn(turn, key, *who, begun);
    if (auto again = reenter(key, options, who)) return again;
  }
  look_first = look_first || looks_first(options, once && in_line == 0us);
  return drive(key, options, once, who, begun, look_first);
}

local_queue::turn engine::stand_in_line(const lock_key& key, const lock_settings& options, owner_state& who,
                                        instant until) {
  // Only who said in whose name he asks may enter what another thread gets in the meantime.
  const bool enters = in_owner_scope() && options.reentry != reentry::busy;
  const auto held = [&] {
    const std::lock_guard lock(who.mutex);
    const auto mine = find_held(who, key);
    return mine != nullptr && !mine->outlived;
  };
  std::stop_source either;  // the caller and close() may both end the waiting
  const auto end = [&either] { either.request_stop(); };
  const std::stop_callback on_close(closed_.get_token(), end);
  const std::stop_callback on_cancel(options.cancel, end);
  return shared_.queue.enter(key, enters ? &who : nullptr, until, either.get_token(), held);
}

/// Before any statement. A later request ends the waiting.
void engine::check_cancelled(const lock_key& key, const lock_settings& options) const {
  if (options.cancel.stop_requested()) {
    throw lock_refused(errc::cancelled, fmt::format("key '{}': cancelled before it was asked for", printable(key)));
  }
}

void engine::wait_turn(local_queue::turn end, const lock_key& key, owner_state& who, instant begun) {
  const auto waited = shared_.now() - begun;
  const auto text = fmt::format("key '{}': waited {} ms", printable(key), ms(waited));
  shared_.tell({.what = event::kind::busy, .key = key.view(), .waited = waited});
  switch (end) {
    case local_queue::turn::cancelled:
      throw lock_refused(closed_.stop_requested() ? errc::closed : errc::cancelled, text);
    case local_queue::turn::too_many:
      throw lock_refused(errc::too_many_waiters,
                         fmt::format("key '{}': max_waiters = {}", printable(key), shared_.options.max_waiters));
    default: throw lock_timeout(text + in_this_process(key, who));
  }
}

lease engine::drive(const lock_key& key, const lock_settings& options, bool once, std::shared_ptr<owner_state> who,
                    instant begun, bool look_first) {
  // Whatever happens, the turn goes on, and nothing stays pinned or is left at the store; a grant takes all of it over.
  struct turn {
    engine& home;
    const lock_key& key;
    bool mine = true;
    ~turn() {
      if (mine) home.shared_.queue.leave(key);
    }
  } turn{*this, key};
  const auto moment = leave_alone(key, options, once, begun);
  attempt a(key, options, once, std::move(who), begun, look_first, shared_.nonces.fetch_add(1), moment > 0us);
  const struct cleanup {
    engine& home;
    attempt& of;
    ~cleanup() {
      home.cancel_later(of);
      if (of.by != nullptr) home.keeper_.unpin(*of.by);
    }
  } guard{*this, a};
  if (moment > 0us) wait_out(moment, key, options, begun);
  for (step next = a.machine.begin();;) {
    switch (next) {
      case step::pause: next = rest(a); break;
      case step::resolve: next = resolve(a); break;
      case step::give_back: next = give_back(a); break;
      case step::granted:
        if (auto mine = hand_over(a, turn.mine)) return mine;
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

/// Empty: the session has ended meanwhile.
lease engine::hand_over(attempt& a, bool& has_turn) {
  won w{.key = a.key,
        .options = a.options,
        .who = a.who,
        .by = a.by,
        .nonce = a.nonce,
        .fence = a.machine.fence(),
        .trusted_until = a.trusted_until,
        .begun = a.begun,
        .sent = a.sent,
        .attempts = a.machine.statements(),
        .taken_over = a.machine.taken_over(),
        .spare = a.spare};
  const struct handed_over {  // whatever the grant has is its own, also if an exception ends this
    attempt& from;
    won& to;
    bool& has_turn;
    ~handed_over() {
      from.by = to.by;
      has_turn = to.has_turn;
      if (to.by == nullptr) from.behind = attempt::left::nothing;
    }
  } done{a, w, has_turn};
  return granted(w);
}

void engine::cancel_later(attempt& a) noexcept {
  const auto behind = std::exchange(a.behind, attempt::left::nothing);
  if (behind == attempt::left::nothing || a.spare->empty()) return;
  auto& undo = a.spare->front();
  undo.what = chore::kind::cancel;
  undo.by = a.by;
  undo.nonce = a.nonce;
  undo.settled = behind == attempt::left::answered;
  undo.lasting = !undo.settled;  // where it was sent is not known
  undo.kept = a.how.kept;
  undo.ghost = false;
  undo.give_up = shared_.now() + longest_ghost;
  chores_.add(*a.spare);
}

/// A take may stand behind somebody's open transaction for longer than this caller wants to wait.
bool engine::looks_first(const lock_settings& options, bool once) const {
  return shared_.where->caps().take_waits && (once || options.wait < 2 * statement_patience);
}

bool engine::pinned(attempt& a, fault& why) {
  if (a.by != nullptr && a.by->deadline.left(shared_.now()) > 0us) return true;
  if (a.by != nullptr) keeper_.unpin(*std::exchange(a.by, nullptr));
  a.by = keeper_.pin(a.how.session_ttl(), a.limit(shared_.now()), why);
  return a.by != nullptr;
}

step engine::send(attempt& a, step what) {
  fault why;
  const bool grants = what == step::take || what == step::insert || what == step::take_over;
  if (grants && !pinned(a, why)) return a.machine.not_sent(why, shared_.now());
  auto sent = shared_.now();
  bool asked = false;
  std::string news;
  const auto answer = shared_.pool.run(a.limit(sent), statement_patience, [&](connection& on) {
    reply got;
    asked = true;
    sent = shared_.now();
    if (what == step::kill) {
      got = shared_.where->session(on, session_verb::remove_expired, {.id = a.machine.holder().holder});
    } else {
      if (grants) a.nonce = shared_.nonces.fetch_add(1);
      const request ask{.action = verb_of(what),
                        .resource = a.key.view(),
                        .session = a.by != nullptr ? a.by->id : id128{},
                        .row = a.key.row(),
                        .nonce = a.nonce,
                        .kind = a.how.kind,
                        .ttl = a.how.own_ttl(),
                        .expected = what == step::take_over ? &a.machine.holder() : nullptr,
                        .looked = what == step::take && a.machine.statements() > 0};
      if (grants) a.behind = attempt::left::sent;
      shared_.where->execute(on, {&ask, 1}, {&got, 1});
      if (grants) a.learn(got.result);
    }
    statements_ += got.statements;
    if (got.result == outcome::unknown) a.lost = on.identity();
    if (what == step::take_over && got.result == outcome::failed && got.why.contended) news = blocked(a, on);
    return got;
  });
  const auto now = shared_.now();
  if (!asked) return a.machine.not_sent(answer.why, now);
  if (!news.empty()) {  // not with the connection on loan: the observer may call back
    shared_.tell({.what = event::kind::blocked, .key = a.key.view(), .fence = a.machine.holder().fence, .text = news});
  }
  if (answer.result == outcome::absent && a.key.row() != nullptr) {
    throw lock_refused(errc::no_such_row, fmt::format("row '{}'", printable(a.key)));
  }
  if (grants) {
    a.sent = sent;
    a.trusted_until = a.how.trusted_until(*a.by, sent, now, shared_.options.margin);
  }
  return a.machine.replied(answer, now, a.trusted_until);
}

step engine::resolve(attempt& a) {
  shared_.tell({.what = event::kind::outcome_unknown, .key = a.key.view(), .text = a.machine.why().text});
  chore undo{.what = chore::kind::cancel,
             .by = a.by,
             .key = a.key,
             .nonce = a.nonce,
             .lost = std::move(a.lost),
             .kept = a.how.kept,
             .give_up = a.how.kept ? instant::max() : shared_.now() + longest_ghost};
  if (!chores_.attempt(undo, statement_patience / 2)) {
    std::list<chore> made;
    made.push_back(std::move(undo));
    keeper_.haunted(a.by);
    chores_.add(made);
  }
  a.behind = attempt::left::nothing;
  return a.machine.resolved(shared_.now());
}

/// How long this process leaves alone what it has had again and again. By the machine's time: under a test's clock there are
/// no other processes.
microseconds engine::leave_alone(const lock_key& key, const lock_settings& options, bool once, instant begun) {
  if (once || shared_.options.time != nullptr) return 0us;
  const auto now = shared_.now();
  return std::min<microseconds>(shared_.had.leave_alone(key, now), std::max(begun + options.wait - now, 0us));
}

step engine::rest(attempt& a) {
  wait_out(a.machine.pause(), a.key, a.options, a.begun);
  return a.machine.paused();
}

void engine::wait_out(microseconds pause, const lock_key& key, const lock_settings& options, instant begun) {
  // Not an engine-wide condition: a cancellation wakes just its own waiter.
  std::mutex mutex;
  std::condition_variable wake;
  bool cancelled = false;
  const auto end = [&] {
    const std::lock_guard lock(mutex);
    cancelled = true;
    shared_.time.notify(wake);
  };
  {
    const std::stop_callback on_cancel(options.cancel, end);
    const std::stop_callback on_close(closed_.get_token(), end);
    const auto until = shared_.now() + pause;
    std::unique_lock lock(mutex);
    while (!cancelled && shared_.now() < until) shared_.time.wait_until(wake, lock, until);
  }
  if (!cancelled) return;
  const auto waited = shared_.now() - begun;
  shared_.tell({.what = event::kind::busy, .key = key.view(), .waited = waited});
  throw lock_refused(options.cancel.stop_requested() ? errc::cancelled : errc::closed,
                     fmt::format("key '{}': waited {} ms", printable(key), ms(waited)));
}

step engine::give_back(attempt& a) {
  // Rule 4: a grant that came too late is released, not handed out.
  chore undo{.what = chore::kind::release,
             .by = a.by,
             .key = a.key,
             .nonce = a.nonce,
             .fence = a.machine.fence(),
             .give_up = shared_.now() + 2 * a.how.ttl + 10s};
  if (!chores_.attempt(undo, statement_patience / 2)) chores_.add(std::move(undo));
  a.behind = attempt::left::nothing;
  return a.machine.given_back(shared_.now());
}

lease engine::granted(won& w) {
  const keeping how(w.key, w.options);
  auto one = std::make_shared<grant>(shared_from_this(), w.key);
  one->kept_by = w.by;
  one->who = w.who;
  one->fence = w.fence;
  one->nonce = w.nonce;
  one->kept = how.kept;
  one->column = keeping::column_renewed(w.key) && w.options.renewal == renewal::automatic;
  one->has_turn = w.has_turn;
  one->renewable = w.options.renewal == renewal::manual;
  one->ttl = how.ttl;
  one->margin = margin_for(how.ttl, shared_.options.margin);
  one->min_hold = w.options.min_hold;
  one->asked_at = w.sent;
  one->granted_at = shared_.now();
  if (!how.kept) one->own_end.reset(w.trusted_until);
  if (w.options.max_hold > 0ms) one->cap = one->granted_at + w.options.max_hold;
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
  one->spare = std::move(w.spare);
  w.by = nullptr;  // the grant has the pin and the turn now
  w.has_turn = false;
  lease mine(one, false, true);
  {
    const std::lock_guard lock(one->who->mutex);
    one->who->held.push_back(one);
  }
  arm(one);
  if (one->column) keep_column(one);
  shared_.queue.granted(w.key, one->who.get());
  shared_.had.granted(w.key, one->fence, one->granted_at);
  shared_.tell({.what = event::kind::granted,
                .key = w.key.view(),
                .fence = one->fence,
                .waited = one->granted_at - w.begun,
                .attempts = w.attempts,
                .taken_over = w.taken_over});
  return mine;
}

void engine::refused(attempt& a) {
  const auto& m = a.machine;
  refused(a.key, a.begun, m.holder(), m.why(), m.outcome_unknown());
}

void engine::refused(const lock_key& key, instant begun, const seen& holder, const fault& why, bool unknown) {
  const auto waited = ms(shared_.now() - begun);
  if (why.text.empty()) {
    throw lock_timeout(fmt::format("key '{}': waited {} ms{}", printable(key), waited,
                                   holder.who.empty() ? "" : ", held by " + holder.who));
  }
  const auto text = fmt::format("after {} ms: {}", waited, shared_.trouble(why));
  shared_.tell({.what = event::kind::acquire_failed, .key = key.view(), .text = text});
  const auto code = unknown ? errc::outcome_unknown : why.connection ? errc::store_unreachable : errc::store_failed;
  throw store_error(code, fmt::format("key '{}': {}", printable(key), text), why.native, why.sqlstate, why.transient);
}

}  // namespace dlock::detail
