// SPDX-License-Identifier: BSL-1.0
// How the executor gets its connections.
#include <algorithm>
#include <array>
#include <utility>

#include "engine/statements/blocked_caller.hpp"
#include "engine/statements/statement_executor.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
/// What has no time left still gets a connection that is nearly made.
constexpr microseconds shortest_connect = 100ms;
constexpr microseconds longest_connect = 10s;
}  // namespace

// ---- connections ----------------------------------------------------------------------------------------------------

bool statement_executor::connect_more() noexcept {
  if (stop_ || waiting_.empty()) return false;
  answers then(time_);
  for (const auto from : lines) {
    for (;;) {
      const auto& in = waiting_[from];
      if (in.empty()) break;
      const auto now = time_.now();
      slot* const on = slots_.to_connect(from, waiting_.size_from(from), now);
      if (on == nullptr) break;
      begin_connecting(*on, in.last_limit(), now, then);
    }
  }
  return settle(then);
}

void statement_executor::begin_connecting(slot& on, instant until, instant now, answers& then) noexcept {
  slots_.begin_connecting(on, now + std::clamp<microseconds>(until - now, shortest_connect, longest_connect));
  fault why;
  if (!threads_.connect(on.number, why)) connect_failed(on, why, then);
}

void statement_executor::connect_failed(slot& on, const fault& why, answers& then) noexcept {
  const auto now = time_.now();
  slots_.failed(on, why, now);
  then.look_at = now;  // what was put off, or has waited for this attempt only
  for (const auto each : lines) expire_by(each, now);
  for (const auto each : lines) {
    // Who has nothing to hope for need not wait to hear it.
    if (!slots_.hope_for(each)) then.refuse_all(waiting_[each], why);
  }
  for (const auto& in : waiting_) {  // the others look when the next attempt is
    if (in.front() != nullptr && in.front()->caller != nullptr) in.front()->caller->call();
  }
}

void statement_executor::prepare_renewals() noexcept {
  const auto now = time_.now();
  lock_type lock(mutex_);
  if (stop_ || ending_ || slots_.renewals().is != slot::state::closed) return;
  answers then(time_);
  begin_connecting(slots_.renewals(), instant::max(), now, then);
  settle(then);
}

void statement_executor::connect(std::size_t which) noexcept {
  microseconds limit{0};
  {
    const lock_type lock(mutex_);
    if (stop_) return;
    limit = std::max<microseconds>(slots_.at(which).limit - time_.now(), shortest_connect);
  }
  fault why;
  auto fresh = threads_.ready(why) ? store_->connect(limit, why, cancel_.get_token()) : nullptr;
  std::shared_ptr<doubt> about;
  if (fresh != nullptr) {
    try {
      about = std::make_shared<doubt>(fresh->identity());
    } catch (const std::bad_alloc&) {
      why = passing_fault("out of memory", true);
      fresh.reset();
    }
  } else if (why.text.empty()) {
    why = passing_fault("no connection could be made", true);
  }
  lock_type lock(mutex_);
  if (stop_) {  // nobody is left who would use it, or the clock
    lock.unlock();
    fresh.reset();
    return;
  }
  answers then(time_);
  auto& on = slots_.at(which);
  if (fresh == nullptr) {
    connect_failed(on, why, then);
  } else if (slots_.arrived(on, std::move(fresh), about, then.broken)) {
    lock.unlock();
    threads_.connected(about->where);  // before it is used
    lock.lock();
    slots_.opened(on, then.broken);
  }
  settle(then);
  connect_more();
  wake_next(then);
  settle(then);
}

std::size_t statement_executor::open() const {
  const base::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(slots_.all().begin(), slots_.all().end(), [](const auto& each) { return each->on != nullptr; }));
}

std::size_t statement_executor::queued() const {
  const base::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace dlock::engine
