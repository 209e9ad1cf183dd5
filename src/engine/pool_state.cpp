// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/pool_state.hpp"

#include <algorithm>
#include <new>
#include <thread>

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
/// Between attempts to connect while there are connections that work: the server may have no more to give.
constexpr auto pause = 200ms;
}  // namespace

pool_state::pool_state(std::shared_ptr<store> where, time_source& time, std::size_t size)
    : where_(std::move(where)), time_(time) {
  for (std::size_t i = 0; i <= size; ++i) slots_.push_back(std::make_unique<pool_slot>());
  idle_.reserve(size);
}

std::size_t pool_state::count(phase at) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(slots_.begin() + 1, slots_.end(), [at](const auto& one) { return one->at == at; }));
}

// ---- connecting ---------------------------------------------------------------------------------------------------

bool pool_state::start(pool_slot& one, microseconds limit, fault& why) {
  if (over_) {
    why = {.transient = true, .text = "the service ends"};
    return false;
  }
  time_.told(time_source::worker::hired);
  try {
    std::thread([self = shared_from_this(), &one, limit] { self->connect(one, limit); }).detach();
  } catch (const std::exception& e) {
    time_.told(time_source::worker::ends);
    why = {.transient = true, .connection = true, .text = std::string("no thread to connect: ") + e.what()};
    return false;
  }
  one.at = phase::connecting;
  one.number = ++attempts_;
  ++connecting_;
  return true;
}

void pool_state::prepare_renewal(microseconds limit) {
  fault why;  // if there is no thread, that shows again when it is needed
  if (renews && of_renewals().at == phase::empty) start(of_renewals(), limit, why);
}

void pool_state::connect(pool_slot& one, microseconds limit) noexcept {
  fault why;
  auto made = where_->connect(limit, why, cancel_.get_token());
  {
    const std::lock_guard lock(mutex_);
    if (made != nullptr && !over_) {
      one.on = std::move(made);
      one.at = phase::idle;
      one.fresh = true;
      if (&one != &of_renewals()) idle_.push_back(&one);
    } else {
      one.at = phase::empty;
      if (why.text.empty()) why.text = "no connection could be made";
      failed(one, why);
    }
    dispatch();
  }
  made.reset();
  const std::lock_guard lock(mutex_);
  --connecting_;
  if (!forsaken_) time_.told(time_source::worker::ends);
  ended_.notify_all();
}

void pool_state::failed(const pool_slot& one, const fault& why) {
  if (forsaken_) return;
  last = why;
  ++failures;
  next_attempt_ = time_.now() + pause;
  if (&one == &of_renewals() && renewal_ != nullptr) renewal_->to_share = true;
  // Who has others to hope for waits on: a server with no more connections to give may well serve those that it gave.
  if (any_open() || count(phase::connecting) > 0 || (why.full && of_renewals().at != phase::empty)) {
    if (first_ != nullptr) time_.notify(first_->wake);  // it looks after the next attempt
    return;
  }
  if (renewal_ != nullptr && renewal_->to_share) fail(*renewal_, why);
  while (&one != &of_renewals() && first_ != nullptr) fail(*first_, why);
}

void pool_state::end_connecting(std::chrono::milliseconds limit) noexcept {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  cancel_.request_stop();
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, limit, [this] { return connecting_ == 0; });
}

// ---- who gets what ------------------------------------------------------------------------------------------------

pool_slot* pool_state::take_idle(bool renewal) noexcept {
  // Whoever waits for one of these got it when it came.
  auto* const one = renewal ? &of_renewals() : idle_.empty() ? nullptr : idle_.back();
  if (one == nullptr || one->at != phase::idle) return nullptr;
  if (!renewal) idle_.pop_back();
  one->at = phase::lent;
  return one;
}

void pool_state::enter(pool_waiter& who) {
  if (who.renewal) {
    if (finished_) {
      who.failed = true;
      who.why = {.transient = true, .text = "renewals have ended"};
      return;
    }
    renewal_ = &who;
  } else {
    who.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &who;
    last_ = &who;
    ++waiting_;
  }
  dispatch();
}

void pool_state::unlink(pool_waiter& who) noexcept {
  if (who.renewal) {
    renewal_ = nullptr;
    return;
  }
  (who.previous != nullptr ? who.previous->next : first_) = who.next;
  (who.next != nullptr ? who.next->previous : last_) = who.previous;
  --waiting_;
}

void pool_state::share(pool_waiter& who) {
  who.to_share = true;
  dispatch();
}

void pool_state::leave(pool_waiter& who) noexcept {
  if (who.given == nullptr && !who.failed) unlink(who);
}

void pool_state::give(pool_waiter& who, pool_slot& one) noexcept {
  unlink(who);
  one.at = phase::lent;
  who.given = &one;
  time_.notify(who.wake);
}

void pool_state::fail(pool_waiter& who, const fault& why) {
  unlink(who);
  who.failed = true;
  who.why = why;
  time_.notify(who.wake);
}

void pool_state::finish(instant end) noexcept {
  ends_at = end;
  finished_ = true;
  renews = false;
  if (renewal_ != nullptr) fail(*renewal_, {.transient = true, .text = "renewals have ended"});
  for (const auto& each : slots_) each->limit = std::min(each->limit, end);
  for (auto* each = first_; each != nullptr; each = each->next) time_.notify(each->wake);
}

void pool_state::forsake(closing& out) {
  close_idle([](const pool_slot&) { return true; }, out);
  for (auto left = connecting_; left > 0; --left) time_.told(time_source::worker::ends);
  forsaken_ = true;
}

instant pool_state::put_off() const noexcept {
  return any_open() || count(phase::connecting) > 0 ? next_attempt_ : instant::min();
}

bool pool_state::awaited(const pool_waiter& who) const noexcept {
  return count(phase::connecting) > 0 || (who.renewal && of_renewals().at == phase::connecting);
}

/// Where the server has one connection to give and that is the one for renewals, it serves all.
void pool_state::give_up_renewals() {
  auto& from = of_renewals();
  if (!last.full || time_.now() >= next_attempt_) return;
  if (from.at != phase::idle || any_open() || count(phase::connecting) > 0) return;
  auto& to = *slots_[1];
  to.on = std::move(from.on);
  to.fresh = from.fresh;
  to.number = from.number;
  to.at = std::exchange(from.at, phase::empty);
  idle_.push_back(&to);
}

void pool_state::dispatch() {
  fault why;
  if (renewal_ != nullptr) {
    if (of_renewals().at == phase::idle) {
      give(*renewal_, of_renewals());
    } else if (of_renewals().at == phase::empty && !std::exchange(renewal_->tried, true)) {
      if (!start(of_renewals(), renewal_->limit, why)) failed(of_renewals(), why);
    }
  }
  if (renewal_ != nullptr && renewal_->to_share && !idle_.empty()) {
    give(*renewal_, *idle_.back());
    idle_.pop_back();
  }
  if (first_ != nullptr && idle_.empty()) give_up_renewals();
  while (first_ != nullptr && !idle_.empty()) {
    give(*first_, *idle_.back());
    idle_.pop_back();
  }
  auto under_way = first_ == nullptr ? 0 : count(phase::connecting);
  for (std::size_t i = 1; i != slots_.size() && under_way < waiting_; ++i) {
    if (slots_[i]->at != phase::empty) continue;
    if (time_.now() < put_off()) return;
    if (!start(*slots_[i], last_->limit, why)) return failed(*slots_[i], why);
    ++under_way;
  }
}

void pool_state::give_back(pool_slot& one, closing& out) {
  one.limit = instant::max();
  // The others most likely lead to where nothing answers as well. Whoever came next would find that out one by one.
  if (std::exchange(one.hung, false)) {
    close_idle([this](const pool_slot& each) { return &each != &of_renewals(); }, out);
  }
  if (std::exchange(one.outdated, false) || !one.on->usable()) {
    drop(one.on, out);
    one.at = phase::empty;
  } else {
    one.at = phase::idle;
    if (&one != &of_renewals()) idle_.push_back(&one);
  }
  if (first_ != nullptr || renewal_ != nullptr) dispatch();
}

/// Without memory it is closed at once.
void pool_state::drop(std::unique_ptr<connection>& one, closing& out) noexcept {
  try {
    out.push_back(std::move(one));
  } catch (const std::bad_alloc&) {
    one.reset();
  }
}

void pool_state::close_idle(const std::function<bool(const pool_slot&)>& dead, closing& out) {
  for (const auto& each : slots_) {
    if (each->at != phase::idle || !dead(*each)) continue;
    drop(each->on, out);
    each->at = phase::empty;
  }
  idle_.erase(std::remove_if(idle_.begin(), idle_.end(), [](const auto* each) { return each->at != phase::idle; }),
              idle_.end());
}

bool pool_state::arrive(pool_slot& one, closing& out) {
  one.fresh = false;
  const auto& to = one.on->identity().server;
  if (to == server_) return true;
  if (one.number < since_) {
    one.outdated = true;
    return false;
  }
  if (!server_.empty()) {
    since_ = one.number;
    const auto leads_elsewhere = [&](const pool_slot& each) { return each.on->identity().server != to; };
    close_idle(leads_elsewhere, out);
    for (const auto& each : slots_) {
      if (each->at == phase::lent && leads_elsewhere(*each)) each->outdated = true;
    }
  }
  server_ = to;
  return true;
}

}  // namespace dlock::detail
