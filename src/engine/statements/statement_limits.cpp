// SPDX-License-Identifier: GPL-2.0-or-later
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

/// Until when it waits for a connection.
instant statement_executor::limit_of(const statement& asked) noexcept {
  const auto in = asked.stands_in;
  // Not a renewal: rule 5.
  const bool waits = asked.queued_at != instant::max() && in != line::renewals;
  const bool nearly = waits && (slots_.connecting_for(in) || slots_.idle_for(in) != nullptr);
  return std::min(nearly ? std::max(asked.until, asked.queued_at + shortest_wait) : asked.until, ends_at_);
}

void statement_executor::expire(line which, instant now, const blocked_caller* of, answers& then) noexcept {
  const auto late = [&](const statement& asked) {
    mutex_.assert_held();
    return asked.caller == of && limit_of(asked) <= now;
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
}

instant statement_executor::tick(instant now) noexcept {
  lock_type lock(mutex_);
  answers then(time_);
  for (const auto each : lines) expire(each, now, nullptr, then);
  settle(then);
  connect_more();
  wake_next();  // there may have been no thread for it before
  auto next = instant::max();
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
  bool any = false;
  for (const auto& in : waiting_) {
    any = any || !in.empty();
    in.for_each([&](const statement& asked) {
      mutex_.assert_held();
      if (asked.caller == nullptr) next = std::min(next, limit_of(asked));
    });
  }
  if (const auto put_off = slots_.put_off(); any && now < put_off) next = std::min(next, put_off);
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
    in.for_each([this](const statement& asked) {
      if (asked.caller != nullptr) asked.caller->call();
    });
  }
  then.look_at = when;
  settle(then);
  wake_next();
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
