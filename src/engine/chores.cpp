// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/chores.hpp"

#include <algorithm>

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
constexpr microseconds beat = 500ms;
constexpr microseconds patience = 2s;       // of one statement
constexpr std::size_t sweep_rows = 100;     // of a kind, at one time
}  // namespace

void chores::add(chore one) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(one));
  wake_.notify_all();
}

void chores::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  wake_.notify_all();
}

bool chores::cancel(chore& one, connection& on) {
  // Rule 6: first see the old connection gone, then cancel: the other way round it could run afterwards.
  if (!one.settled) one.settled = one.lost.id == 0 || shared_.where->settle(on, one.lost);
  const request ask{.what = verb::cancel, .resource = one.key->view(), .session = one.by->id, .nonce = one.nonce};
  reply answer;
  shared_.where->execute(on, {&ask, 1}, {&answer, 1});
  // Cancelled: it has run, and a statement runs once. Nothing to cancel: final only if it can't run any more.
  return answer.what == outcome::yes || (answer.what == outcome::no && one.settled);
}

bool chores::attempt(chore& one, instant limit) {
  fault why;
  const auto on = shared_.pool.get(limit, limit, why);
  if (!on) return false;
  switch (one.what) {
    case chore::kind::cancel: return cancel(one, *on);
    case chore::kind::close: {
      const auto end = shared_.where->session(*on, session_verb::close, shared_.record(one.by->id, one.by->ttl)).what;
      return end == outcome::yes || end == outcome::no;
    }
    case chore::kind::release: break;
  }
  const request ask{.what = verb::release,
                    .resource = one.key->view(),
                    .session = one.by->id,
                    .fence = one.fence,
                    .min_hold = one.min_hold};
  reply answer;
  shared_.where->execute(*on, {&ask, 1}, {&answer, 1});
  return answer.what == outcome::yes || answer.what == outcome::no;
}

void chores::round(instant now) {
  std::list<chore> mine;
  {
    const std::lock_guard lock(mutex_);
    mine.swap(waiting_);
  }
  for (auto at = mine.begin(); at != mine.end();) {
    const bool done = attempt(*at, shared_.now() + patience);
    if (!done && now < at->give_up) {
      ++at;
      continue;
    }
    if (at->what == chore::kind::cancel) sessions_.settled(*at->by);
    if (!done && at->what == chore::kind::release) {
      shared_.tell({.what = event::kind::release_failed,
                    .key = at->key->view(),
                    .fence = at->fence,
                    .text = "given up: the key is free after its session's expiry"});
    }
    at = mine.erase(at);
  }
  const std::lock_guard lock(mutex_);
  waiting_.splice(waiting_.begin(), mine);
}

void chores::sweep(instant now) {
  if (shared_.options.sweep_every.count() == 0 || now < next_sweep_) return;
  const bool first = next_sweep_ == instant{};
  next_sweep_ = now + shared_.options.sweep_every;
  if (first) return;  // a process that lives for seconds does not clean up
  fault why;
  const auto on = shared_.pool.get(now + patience, now + patience, why);
  if (!on) return;
  const auto answer = shared_.where->sweep(*on, shared_.options.idle_key, sweep_rows);
  if (answer.what == outcome::yes && answer.fence > 0) {
    shared_.tell({.what = event::kind::clean_up, .attempts = static_cast<unsigned>(answer.fence)});
  }
}

void chores::run() {
  for (;;) {
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      if (!stop_ && waiting_.empty()) {
        const bool sweeps = shared_.options.sweep_every.count() > 0;
        shared_.time.wait_until(wake_, lock, sweeps ? std::max(next_sweep_, shared_.now() + 1ms) : shared_.now() + 1h);
      } else if (!stop_ && retry_) {
        shared_.time.wait_until(wake_, lock, shared_.now() + beat);
      }
      last = stop_;
    }
    const auto now = shared_.now();
    round(now);
    if (last) return;
    sweep(now);
    const std::lock_guard lock(mutex_);
    retry_ = !waiting_.empty();
  }
}

}  // namespace dlock::detail
