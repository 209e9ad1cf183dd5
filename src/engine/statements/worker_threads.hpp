// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// The threads that execute statements without a waiting caller: how many there are and which sleep. Guarded by the
/// executor's mutex.
class worker_threads {
 public:
  explicit worker_threads(time_source& time) noexcept : time_(time) {}

  /// One that sleeps is woken, or one more is started by `start`, up to `most`. False: neither is to be had.
  template <class Start>
  bool wake(std::size_t most, Start&& start) noexcept {
    if (idle_ > 0) {
      time_.notify(wanted_);
      return true;
    }
    if (all_ == most || !start()) return false;
    ++all_;
    return true;
  }
  void wake_all() noexcept { time_.notify(wanted_); }
  /// The calling one sleeps until it is woken.
  void sleep(std::unique_lock<std::mutex>& lock) {
    ++idle_;
    time_.wait_until(wanted_, lock, instant::max());
    --idle_;
  }

 private:
  time_source& time_;
  std::condition_variable wanted_;
  std::size_t all_ = 0;
  std::size_t idle_ = 0;
};

}  // namespace dlock::engine
