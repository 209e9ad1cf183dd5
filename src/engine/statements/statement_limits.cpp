// SPDX-License-Identifier: BSL-1.0
// How long statements wait and run, and the end of an executor.
#include <algorithm>

#include "engine/statements/blocked_caller.hpp"
#include "engine/statements/statement_executor.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
/// A statement that hangs may be followed by another one before the first interruption has an effect.
constexpr auto interrupt_again = 100ms;
constexpr auto long_time = 1s;  // for a statement
/// What has no time left still gets a connection that is nearly made.
constexpr microseconds shortest_wait = 100ms;
}  // namespace

bool statement_executor::nearly(line which) noexcept {
  // Not for a renewal: rule 5.
  return which != line::renewals && (slots_.connecting_for(which) || slots_.idle_for(which) != nullptr);
}

/// Until when it waits for a connection.
instant statement_executor::limit_of(const statement& asked, bool nearly) noexcept {
  const bool longer = nearly && asked.queued_at != instant::max();
  return std::min(longer ? std::max(asked.until, asked.queued_at + shortest_wait) : asked.until, ends_at_);
}

instant statement_executor::expire(line which, instant now, const blocked_caller* of, answers& then) noexcept {
  auto first = instant::max();
  if (waiting_[which].empty()) return first;
  const bool soon = nearly(which);
  const auto late = [&](const statement& asked) {
    mutex_.assert_held();
    const bool meant = of != nullptr ? asked.caller == of : asked.caller != nullptr ? asked.caller->missing(now) : true;
    if (!meant) return false;
    const auto limit = limit_of(asked, soon);
    if (limit > now) first = std::min(first, limit);
    return limit <= now;
  };
  waiting_[which].extract(late, [&](statement& asked) {
    mutex_.assert_held();
    if (slots_.failures() != asked.failures || now < slots_.put_off()) {
      then.refuse(asked, slots_.last_failure());
    } else if (slots_.connecting_for(which)) {
      then.refuse(asked, passing_fault("a connection could not be made in time", true));
    } else {
      then.refuse(asked, passing_fault("all lock connections are busy", false));
    }
    return true;
  });
  return first;
}

void statement_executor::expire_unattended(instant now, answers& then) noexcept {
  for (const auto each : lines) {
    auto& by = expire_by_[static_cast<std::size_t>(each)];
    if (now >= std::min(by, ends_at_)) by = expire(each, now, nullptr, then);
  }
}

instant statement_executor::tick(instant now) noexcept {
  lock_type lock(mutex_);
  tick_by_ = instant::max();  // what is wanted from now on counts
  answers then(time_);
  expire_unattended(now, then);
  settle(then);
  connect_more();
  then.look_at = instant::max();
  wake_next(then);  // there may have been no thread for it before, or one that was called has not come
  auto next = then.look_at;
  for (const auto& each : slots_.all()) {
    if (each->is != slot::state::busy) continue;
    if (now >= each->limit) {
      each->on->interrupt();
      each->hung = each->hung || now - each->since >= long_time;
      // Once more, should it have begun another one just then.
      each->limit = now + interrupt_again;
    }
    next = std::min(next, each->limit);
    if (const auto patience = limit_.waits_until(each->since); now < patience) next = std::min(next, patience);
  }
  for (const auto by : expire_by_) next = std::min(next, by);
  if (const auto put_off = slots_.put_off(); !waiting_.empty() && now < put_off) next = std::min(next, put_off);
  tick_by_ = next;
  return next;
}

void statement_executor::end_by(instant when) noexcept {
  lock_type lock(mutex_);
  ending_ = true;
  ends_at_ = when;
  answers then(time_);
  then.refuse_all(waiting_[line::renewals], passing_fault("renewals have ended", false));
  for (const auto& each : slots_.all()) each->limit = std::min(each->limit, when);
  for (const auto& in : waiting_) {
    in.for_each([](const statement& asked) {
      if (asked.caller != nullptr) asked.caller->call();
    });
  }
  then.look_at = when;
  for (const auto each : lines) expire_by(each, when);
  wake_next(then);
  settle(then);
}

void statement_executor::stop() noexcept {
  cancel_.request_stop();
  lock_type lock(mutex_);
  stop_ = true;
  // Nobody is left who wants to know what they were about.
  for (const auto& each : slots_.all()) {
    if (each->is == slot::state::busy) each->on->interrupt();
  }
  answers then(time_);
  for (const auto each : lines) then.refuse_all(waiting_[each], passing_fault("the service ends", false));
  workers_.wake_all();
  settle(then);
}

}  // namespace dlock::engine
