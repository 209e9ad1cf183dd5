// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/lock_round.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/drivers/wake_signal.hpp"
#include "engine/wait_queue.hpp"

namespace dlock::detail {

namespace {

/// Where rounds stand in line. By the machine's time, and never destroyed: it is used by destructors of static objects.
engine::wait_queue& line() {
  static auto* const queue = new engine::wait_queue(std::numeric_limits<std::size_t>::max());
  return *queue;
}

/// A thread that stands there.
class standing final : private engine::queue_waiter {
 public:
  /// Empty: it was not its turn until then.
  engine::queue_turn wait(const lock_key& key, instant until) {
    line().enter(key, *this, system_time().now());
    while (!line().told(key, *this) && system_time().now() < until) signal_.wait(until);
    line().leave(key, *this);
    return std::move(turn);
  }

 private:
  void wake() noexcept override { signal_.wake(); }
  engine::wake_signal signal_{system_time()};
};

constinit thread_local lock_round* mine = nullptr;  // on the heap, for the same reason

struct thread_end {
  bool here = true;
  ~thread_end() { delete std::exchange(mine, nullptr); }
};
thread_local thread_end at_end{};

}  // namespace

lock_round& lock_round::here() {
  if (mine == nullptr) {
    static_cast<void>(at_end.here);  // makes it
    mine = new lock_round;
  }
  return *mine;
}

void lock_round::begin(const lock_key& key, std::chrono::microseconds limit) {
  mine_.clear();
  if (!belongs(key)) return other();
  if (turns_.empty()) stand_in_line(std::min(limit, patience));
}

std::chrono::microseconds lock_round::pause(const retry_settings& retry, std::uint64_t seed) {
  if (!std::exchange(pause_next_, false)) return std::chrono::microseconds{0};
  if (!pauses_) {
    auto any = retry;
    any.jitter = 1;  // two processes that are in each other's way must not come back together
    pauses_.emplace(any, seed);
  }
  return pauses_->next();
}

void lock_round::locked(const lock_key& key) { mine_.push_back(key); }

std::chrono::microseconds lock_round::may_wait(const lock_key& key) const noexcept {
  return !turns_.empty() && belongs(key) ? patience : std::chrono::microseconds{0};
}

void lock_round::got(const lock_key& key) {
  if (mine_.empty()) return;
  mine_.push_back(key);
  if (together_.empty() || mine_.size() < together_.size()) return;
  leave_line();  // that was the last of them
  join();
  pauses_.reset();
}

void lock_round::refused(const lock_key& key, bool here) {
  leave_line();
  if (mine_.empty()) return;
  if (!belongs(key) && !belongs(mine_.front())) together_.clear();  // of other rounds
  mine_.push_back(key);
  join();
  pause_next_ = !here;
  mine_.clear();
}

/// Those of this round belong to the others.
void lock_round::join() {
  together_.insert(together_.end(), mine_.begin(), mine_.end());
  std::sort(together_.begin(), together_.end());
  together_.erase(std::unique(together_.begin(), together_.end()), together_.end());
}

void lock_round::unlocked(const lock_key& key) noexcept {
  if (!turns_.empty()) return other();  // it was not a round after all
  std::erase(mine_, key);
}

void lock_round::other() noexcept {
  leave_line();
  mine_.clear();
  together_.clear();
  pauses_.reset();
  pause_next_ = false;
}

void lock_round::stand_in_line(std::chrono::microseconds limit) {
  const auto until = system_time().now() + limit;
  turns_.reserve(together_.size());
  for (std::size_t i = turns_.size(); i < together_.size(); ++i) {
    auto turn = standing().wait(together_[i], until);
    if (!turn) return leave_line();
    turns_.push_back(std::move(turn));
  }
}

void lock_round::leave_line() noexcept {
  while (!turns_.empty()) turns_.pop_back();
}

bool lock_round::belongs(const lock_key& key) const noexcept {
  return std::binary_search(together_.begin(), together_.end(), key);
}

}  // namespace dlock::detail
