// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/busy_retry.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include "stores/sqlite/client/connection.hpp"
#include "stores/sqlite/client/errors.hpp"

namespace dlock::stores::sqlite {

bool sqlite_write_queue::enter(waiter& me, time_point until, const std::atomic<bool>& cancelled) {
  base::unique_lock lock(mutex_);
  if (!taken_) {
    taken_ = true;
    return true;
  }
  me.turn_ = false;
  const auto at = me.place_.begin();
  queue_.splice(queue_.end(), me.place_);
  me.wake_.wait_until(lock.native(), until, [&] { return me.turn_ || cancelled.load(); });
  // A turn that came together with the end of the wait is taken, because it was unlinked already and no other thread
  // has it.
  if (me.turn_) return true;
  me.place_.splice(me.place_.end(), queue_, at);
  return false;
}

void sqlite_write_queue::leave() {
  const base::lock_guard lock(mutex_);
  if (queue_.empty()) {
    taken_ = false;
    return;
  }
  waiter* const next = queue_.front();
  next->place_.splice(next->place_.end(), queue_, queue_.begin());
  next->turn_ = true;
  // While the mutex is locked, because the waiter may be destroyed once it sees its turn.
  next->wake_.notify_one();
}

void sqlite_write_queue::nudge(waiter& me) {
  const base::lock_guard lock(mutex_);
  me.wake_.notify_one();
}

std::size_t sqlite_write_queue::waiting() {
  const base::lock_guard lock(mutex_);
  return queue_.size();
}

// ---- one statement --------------------------------------------------------------------------------------------------

using std::chrono::microseconds;

sqlite_busy_retry::sqlite_busy_retry(sqlite_connection& connection, lane lane, microseconds limit) noexcept
    : connection_(connection), lane_(lane), end_(clock::now() + limit) {
  if (lane_ == lane::renewal) urgent_.emplace(connection_.file().queue);
}

sqlite_busy_retry::sqlite_busy_retry(sqlite_connection& connection, lane lane) noexcept
    : sqlite_busy_retry(connection, lane, connection.file().settings.statement_timeout()) {}

sqlite_busy_retry::~sqlite_busy_retry() {
  if (in_queue_) connection_.file().queue.leave();
}

int sqlite_busy_retry::begin() noexcept {
  if (connection_.interrupted().load(std::memory_order_relaxed)) return SQLITE_INTERRUPT;
  if (lane_ != lane::write || in_queue_) return SQLITE_OK;
  auto& queue = connection_.file().queue;
  in_queue_ = queue.enter(connection_.waiter(), end_, connection_.interrupted());
  if (!in_queue_) return connection_.interrupted().load() ? SQLITE_INTERRUPT : SQLITE_BUSY;
  // Lets renewals of this process go first. It does not wait for those that wait for another process.
  for (int i = 0; i < 4 && queue.urgent_waiting(); ++i) std::this_thread::sleep_for(microseconds{100});
  return SQLITE_OK;
}

bool sqlite_busy_retry::again(int& code) noexcept {
  if (!is_busy(code)) return false;
  if (connection_.interrupted().load()) {
    code = SQLITE_INTERRUPT;
    return false;
  }
  if (clock::now() >= end_) return false;
  pause();
  // Renewals of this process go first, because they poll meanwhile.
  if (lane_ == lane::write && connection_.file().queue.urgent_waiting()) pause();
  return true;
}

void sqlite_busy_retry::pause() noexcept {
  if (lane_ == lane::renewal) {
    // Halved after each 16 attempts, so that a writer that has waited long gets in before a new one.
    const auto shorter = microseconds{100} / (1 << std::min(tries_++ / 16, 4U));
    std::this_thread::sleep_for(std::max(shorter, microseconds{20}));
    return;
  }
  // Random, so that processes that wait for the same commit do not retry in step.
  thread_local std::minstd_rand chance{static_cast<unsigned>(clock::now().time_since_epoch().count())};
  std::uniform_int_distribution<microseconds::rep> length(100, 300);
  std::this_thread::sleep_for(microseconds{length(chance)});
}

}  // namespace dlock::stores::sqlite
