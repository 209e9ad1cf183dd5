// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/connection_pool.hpp"

#include <algorithm>
#include <utility>

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
constexpr auto again = 100ms;
}  // namespace

connection_pool::connection_pool(std::shared_ptr<store> where, time_source& time, std::size_t size)
    : store_(std::move(where)), time_(time) {
  for (std::size_t i = 0; i < size; ++i) slots_.push_back(std::make_unique<slot>());
  idle_.reserve(size);
  for (const auto& one : slots_) idle_.push_back(one.get());
}

connection_pool::loan::~loan() {
  if (slot_ != nullptr) pool_->give_back(slot_);
}

connection_pool::loan connection_pool::get(instant until, microseconds patience, fault& why) {
  slot* mine = nullptr;
  {
    std::unique_lock lock(mutex_);
    while (idle_.empty()) {
      if (time_.now() >= until) {
        why = {.transient = true, .contended = false, .text = "all lock connections are busy"};
        return {};
      }
      time_.wait_until(freed_, lock, until);
    }
    mine = idle_.back();
    idle_.pop_back();
    if (mine->on != nullptr) mine->limit = time_.now() + patience;
  }
  loan taken(this, mine);
  if (mine->on == nullptr) {
    auto made = connect(until, why);
    if (made == nullptr) return {};
    const std::lock_guard lock(mutex_);
    mine->on = std::move(made);
    mine->limit = time_.now() + patience;
  }
  if (watch_) watch_(time_.now() + patience);
  return taken;
}

std::unique_ptr<connection> connection_pool::connect(instant until, fault& why) {
  const auto left = std::chrono::duration_cast<microseconds>(until - time_.now());
  auto made = store_->connect(std::clamp<microseconds>(left, 100ms, 10s), why);
  if (made != nullptr && greet_) greet_(made->identity());
  return made;
}

void connection_pool::give_back(slot* of) noexcept {
  std::unique_ptr<connection> broken;  // closed outside the lock
  {
    const std::lock_guard lock(mutex_);
    of->limit = instant::max();
    if (of->on != nullptr && !of->on->usable()) {
      broken = std::move(of->on);
      idle_.insert(idle_.begin(), of);
    } else if (of->on == nullptr) {
      idle_.insert(idle_.begin(), of);
    } else {
      idle_.push_back(of);
    }
  }
  freed_.notify_one();
}

instant connection_pool::interrupt_hung(instant now) noexcept {
  const std::lock_guard lock(mutex_);
  instant next = instant::max();
  for (const auto& one : slots_) {
    if (now >= one->limit) {
      one->on->interrupt();
      // Once more, should it have begun another one just then.
      one->limit = now + again;
    }
    next = std::min(next, one->limit);
  }
  return next;
}

std::size_t connection_pool::open() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const auto& one) { return one->on != nullptr; }));
}

}  // namespace dlock::detail
