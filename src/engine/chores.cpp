// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/chores.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "dlock/store/store_admin.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
constexpr microseconds beat = 500ms;
constexpr microseconds patience = 2s;  // of one statement
// Clean-up goes on while there is work, but takes at most half of one connection's time and deletes some 200 rows a
// second; what else there is to do waits for one step at most.
constexpr std::size_t sweep_rows = 20;  // of a kind, in one step
constexpr microseconds sweep_pause = 100ms;
}  // namespace

bool chores::add(chore one) {
  std::list<chore> made;
  made.push_back(std::move(one));
  return add(made);
}

bool chores::add(std::list<chore>& made) noexcept {
  const std::lock_guard lock(mutex_);
  if (over_) return false;
  waiting_.splice(waiting_.end(), made);
  shared_.time.notify(wake_);
  return true;
}

void chores::wake() noexcept {
  const std::lock_guard lock(mutex_);
  shared_.time.notify(wake_);
}

void chores::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  if (sweeping_ != nullptr) sweeping_->interrupt();  // nobody waits for that
  shared_.time.notify(wake_);
}

void chores::wait_released(instant until) {
  const auto open = [this] {
    return in_round_ > 0 || std::any_of(waiting_.begin(), waiting_.end(),
                                        [](const chore& each) { return each.what == chore::kind::release; });
  };
  std::unique_lock lock(mutex_);
  while (open() && shared_.now() < until) shared_.time.wait_until(rounds_, lock, until);
}

bool chores::cancel(chore& one, connection& on) {
  // Rule 6: first see the old connection gone, then cancel: the other way round it could run afterwards.
  if (!one.settled && !one.lasting) one.settled = one.lost.id == 0 || shared_.where->terminate(on, one.lost);
  const auto ask = one.ask(verb::cancel);
  reply answer;
  shared_.where->execute(on, {&ask, 1}, {&answer, 1});
  // Cancelled: it has run, and a statement runs once. Nothing to cancel: final only if it can't run any more.
  return answer.result == outcome::yes || (answer.result == outcome::no && one.settled);
}

/// Without memory it is done later.
bool chores::attempt_or_later(chore& one, microseconds limit, bool* unreachable) noexcept {
  try {
    return attempt(one, limit, unreachable);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool chores::attempt(chore& one, microseconds limit, bool* unreachable) {
  const auto now = shared_.now();
  if (one.what == chore::kind::let_go) {
    let_go_(one.of);  // what can't be done now comes back as a release
    return true;
  }
  fault why;
  const auto on = shared_.pool.get(now + limit, limit, why);
  if (!on) {
    if (unreachable != nullptr) *unreachable = true;
    return false;
  }
  switch (one.what) {
    case chore::kind::cancel: return cancel(one, *on);
    case chore::kind::close: {
      const auto end = shared_.where->session(*on, session_verb::close, shared_.record(one.by->id, one.by->ttl)).result;
      return end == outcome::yes || end == outcome::no;
    }
    case chore::kind::let_go:
    case chore::kind::release: break;
  }
  const auto ask = one.ask(verb::release);
  reply answer;
  shared_.where->execute(*on, {&ask, 1}, {&answer, 1});
  return answer.result == outcome::yes || answer.result == outcome::no;
}

instant chores::due(const chore& one) {
  const auto at = std::max(one.held_back, one.again);
  return one.untold == nullptr || one.untold->told ? at : std::max(at, one.told_by);
}

instant chores::next_due() const {
  auto first = shared_.options.sweep_every.count() > 0 ? next_sweep_ : instant::max();
  for (const auto& each : waiting_) first = std::min(first, due(each));
  return first;
}

void chores::round(bool last) {
  std::list<chore> mine;
  {
    const std::lock_guard lock(mutex_);
    const auto now = shared_.now();
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto one = at++;
      if (last || due(*one) <= now) mine.splice(mine.end(), waiting_, one);
    }
    in_round_ = static_cast<std::size_t>(
        std::count_if(mine.begin(), mine.end(), [](const chore& each) { return each.what == chore::kind::release; }));
  }
  const auto end = last ? shared_.now() + shared_.options.release_limit : instant::max();
  bool unreachable = false;  // then the rest of this round need not find that out one by one
  for (auto at = mine.begin(); at != mine.end();) {
    const auto now = shared_.now();
    const auto limit = std::min<microseconds>(patience, end - now);
    if (last && now < at->held_back) {  // there is no later: the server's own expiry does it
      at = mine.erase(at);
      continue;
    }
    // The last round is short, but a let_go holds the engine; it needs no statement then.
    const bool holds = last && at->what == chore::kind::let_go;
    const bool cut_short = !holds && (unreachable || limit <= 0us || (stop_ && !last));
    const bool done = !cut_short && attempt_or_later(*at, limit, &unreachable);
    // A kept grant under a session that is over is free for others as it is.
    const bool moot = at->what == chore::kind::cancel && at->kept && at->by->deadline.left(now) == 0us;
    if (!done && !moot && now < at->give_up) {
      at->again = shared_.now() + beat;
      ++at;
      continue;
    }
    if (at->what == chore::kind::cancel && at->ghost) sessions_.settled(*at->by);
    if (!done) given_up(*at);
    at = mine.erase(at);
  }
  const std::lock_guard lock(mutex_);
  waiting_.splice(waiting_.begin(), mine);
  in_round_ = 0;
  shared_.time.notify(rounds_);
}

void chores::given_up(const chore& one) noexcept {
  if (one.what != chore::kind::release) return;
  try {
    news_.post({.what = event::kind::release_failed,
                .key = std::string(one.key->view()),
                .fence = one.fence,
                .text = "given up: the key is free after its session's expiry"});
  } catch (const std::bad_alloc&) {  // nobody is told
  }
}

void chores::sweep(instant now) {
  if (shared_.options.sweep_every.count() == 0 || now < next_sweep_) return;
  const bool first = next_sweep_ == instant{};
  next_sweep_ = now + shared_.options.sweep_every;
  if (first || shared_.where->admin() == nullptr) return;  // a process that lives for seconds does not clean up
  fault why;
  const auto on = shared_.pool.get(now + patience, patience, why);
  if (!on) return;
  const auto answer = send_sweep(*on);
  const auto after = shared_.now();
  swept_ += answer.fence;
  const bool more = answer.result == outcome::yes && answer.fence >= sweep_rows;
  if (more) next_sweep_ = after + std::max(sweep_pause, after - now);
  if (swept_ == 0 || (more && after < tell_swept_)) return;
  news_.post({.what = event::kind::clean_up, .attempts = static_cast<unsigned>(std::exchange(swept_, 0))});
  tell_swept_ = after + shared_.options.sweep_every;
}

reply chores::send_sweep(connection& on) {
  const auto set = [&](connection* sweeping) {
    const std::lock_guard lock(mutex_);
    sweeping_ = sweeping;
    return !stop_;
  };
  reply answer;
  if (set(&on)) answer = shared_.where->admin()->clean_up(on, shared_.options.idle_key, sweep_rows);
  set(nullptr);
  return answer;
}

void chores::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool last = stop_;
    if (const auto first = next_due(); !last && first > shared_.now()) {
      shared_.time.wait_until(wake_, lock, first);
      continue;  // what came meanwhile may be due earlier, or have nothing to wait for any more
    }
    lock.unlock();
    round(last);
    if (last) return end();
    sweep(shared_.now());
    lock.lock();
  }
}

void chores::end() {
  std::list<chore> rest;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    rest.swap(waiting_);
  }
  // These hold the engine. Their grants are lost, or it would not end: no statement is sent.
  for (const auto& one : rest) {
    if (one.what == chore::kind::let_go) let_go_(one.of);
  }
}

}  // namespace dlock::detail
