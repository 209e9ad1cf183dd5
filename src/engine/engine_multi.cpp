// SPDX-License-Identifier: GPL-2.0-or-later
// Several keys at once: all or nothing under one deadline. multi_machine says in what order; here it is done.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "engine/several.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

multi_lease engine::acquire(const lock_keys& keys, const lock_settings& options, bool once) {
  refuse_if_forked();
  validate(options, shared_.options);
  for (const auto& key : keys) check_row(key, options);
  check_cancelled(keys[0], options);
  const visit here(*this);
  return several(*this, keys, options, once).run();
}

engine::several::several(engine& home, const lock_keys& keys, const lock_settings& options, bool once)
    : home_(home),
      keys_(keys),
      options_(options),
      once_(once),
      who_(current_owner()),
      begun_(home.shared_.now()),
      deadline_(once ? begun_ : begun_ + options.wait),
      machine_({.deadline = deadline_, .once = once, .retry = options.retry, .seed = home.shared_.nonces.fetch_add(1)}),
      leases_(keys.size()),
      turns_(keys.size()) {}

engine::several::~several() {
  give_back();
  leave_turns();
  engine::let_go(leases_);
}

multi_lease engine::several::run() {
  enter_held();
  const auto first = std::find_if(leases_.begin(), leases_.end(), [](const lease& one) { return !one; });
  if (first == leases_.end()) return done();
  home_.check_transaction(keys_[static_cast<std::size_t>(first - leases_.begin())]);
  return follow();
}

void engine::several::enter_held() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (!leases_[i]) leases_[i] = home_.reenter(keys_[i], options_, who_);
  }
}

multi_lease engine::several::follow() {
  for (multi_step next = machine_.begin();;) {
    const auto& key = keys_[machine_.busy_key()];
    switch (next) {
      case multi_step::take: next = round(); break;
      case multi_step::give_back:
        give_back();
        leave_turns(machine_.busy_key());
        next = machine_.given_back(now());
        break;
      case multi_step::pause:
        home_.wait_out(machine_.pause(), key, options_, begun_);
        next = machine_.paused();
        break;
      case multi_step::look: next = look(); break;
      case multi_step::one_by_one: one_by_one(); return done();
      case multi_step::granted:
        if (become_leases()) return done();
        next = machine_.troubled(0, {.transient = true, .text = "the session ended before the grants could be used"},
                                 false);
        break;
      case multi_step::busy:
        home_.shared_.tell({.what = event::kind::busy, .key = key.view(), .waited = now() - begun_});
        if (once_) return {};
        home_.refused(key, begun_, machine_.holder(), {}, false);
      case multi_step::failed: home_.refused(key, begun_, {}, machine_.why(), machine_.outcome_unknown());
    }
  }
}

multi_lease engine::several::done() {
  // Those that were held before may have been lost meanwhile: nobody works with fewer than all.
  for (const auto& one : leases_) one.ensure_held();
  return {keys_, std::exchange(leases_, {})};
}

// ---- turns of the local queue -------------------------------------------------------------------------------------

void engine::several::check_open(const lock_key& key) const {
  if (home_.closed_.stop_requested()) throw lock_refused(errc::closed, fmt::format("key '{}'", printable(key)));
  if (fault why; !home_.shared_.may_wait(why)) {
    throw store_error(errc::store_failed, fmt::format("key '{}': {}", printable(key), why.text), why.native,
                      why.sqlstate, false);
  }
}

void engine::several::leave_turns(std::size_t but) noexcept {
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    if (i == but || !turns_[i]) continue;
    home_.shared_.queue.leave(keys_[i]);
    turns_[i] = false;
  }
}

/// Waits in line for one key; afterwards its turn is ours, or the key is, or (rarely) neither.
void engine::several::stand(std::size_t at) {
  const auto& key = keys_[at];
  const auto turn =
      options_.wait > 0ms ? home_.stand_in_line(key, options_, *who_, deadline_) : local_queue::turn::timed_out;
  if (turn == local_queue::turn::mine || turn == local_queue::turn::freed) {
    turns_[at] = true;
    check_open(key);
    return;
  }
  if (turn != local_queue::turn::reenter) home_.wait_turn(turn, key, *who_, begun_);
  leases_[at] = home_.reenter(key, options_, who_);
}

/// The first key whose turn is not to be had now.
std::size_t engine::several::try_turns() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (leases_[i] || turns_[i]) continue;
    if (!home_.shared_.queue.try_enter(keys_[i])) return i;
    turns_[i] = true;
  }
  return none;
}

/// Gets the turns of all keys that are not held. Which one is busy, where one attempt is all there is.
std::size_t engine::several::line_up() {
  check_open(keys_[0]);
  for (unsigned tries = 0; tries < multi_machine::rounds_together; ++tries) {
    const auto busy = try_turns();
    if (busy == none || once_) return busy;
    // As in the store: the busy one is waited for alone, so that the others stay free for other threads.
    leave_turns();
    stand(busy);
  }
  leave_turns();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    while (!leases_[i] && !turns_[i]) stand(i);
  }
  return none;
}

// ---- waiting ------------------------------------------------------------------------------------------------------

multi_step engine::several::look() {
  const auto& key = keys_[machine_.busy_key()];
  const auto about = ask(verb::look, key, nullptr);
  const auto answer = home_.shared_.pool.run(limit(), statement_patience, [&](connection& on) {
    reply seen;
    ++home_.statements_;
    home_.shared_.where->execute(on, {&about, 1}, {&seen, 1});
    return seen;
  });
  return machine_.looked(answer, now());
}

void engine::several::one_by_one() {
  auto how = options_;
  how.retry.limit = machine_.retries_left();
  leave_turns();
  for (;;) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      while (!leases_[i]) {
        stand(i);
        if (!turns_[i]) continue;
        turns_[i] = false;  // drive() has it, then the grant
        leases_[i] = home_.drive(keys_[i], how, false, who_, begun_, true);
      }
    }
    if (still_held()) return;
    // Those with a short expiry of their own may end while the others are waited for.
    drop_new();
    if (now() >= deadline_) home_.refused(keys_[0], begun_, {}, {}, false);
  }
}

/// Whether all that were taken one by one can be trusted; they get the same expiry.
bool engine::several::still_held() {
  try {
    for (const auto& one : leases_) {
      if (one.reentered()) continue;
      auto& of = *one.grant_;
      if (of.kept || of.column || &one == &leases_.back()) {
        home_.ensure_held(of);
      } else {
        home_.renew(of, of.ttl);
      }
    }
  } catch (const lock_lost&) {
    return false;
  }
  return true;
}

/// Lets go of what was taken, not of what was entered again.
void engine::several::drop_new() noexcept {
  try {
    std::vector<lease> mine;
    mine.reserve(leases_.size());
    for (auto& one : leases_) {
      if (one && !one.reentered()) mine.push_back(std::move(one));
    }
    return engine::let_go(mine);
  } catch (const std::bad_alloc&) {  // one by one
  }
  for (auto& one : leases_) {
    if (one && !one.reentered()) const auto ends = std::move(one);
  }
}

}  // namespace dlock::detail
