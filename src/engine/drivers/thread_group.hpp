// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "base/mutex.hpp"
#include "dlock/store_interface/clock.hpp"

namespace dlock::engine {

/// The threads of a service. It is an object of its own, because the last of them may destroy the service.
class thread_group {
 public:
  explicit thread_group(environment& in) noexcept : environment_(in), join_clock_(in.join_clock()) {}
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;

  /// Starts a detached thread that runs `body` and then destroys it. Throws std::system_error.
  template <class Body>
  static void start(const std::shared_ptr<thread_group>& in, Body body) {
    in->begin();
    try {
      in->environment_.start_thread([in, body = std::move(body)]() mutable {
        in->tell(environment::worker::begins);
        {
          auto mine = std::move(body);
          mine();
          in->tell(environment::worker::ends);
        }
        // After `mine` is destroyed, so that the thread in wait() is the last owner of what the body held.
        in->end();
      });
    } catch (...) {
      in->tell(environment::worker::ends);
      in->end();
      throw;
    }
  }

  /// Waits until no thread runs, but no longer than `limit`.
  void wait(std::chrono::milliseconds limit) {
    auto& clock = join_clock();
    const auto until = clock.now() + limit;
    base::unique_lock lock(mutex_);
    while (running_ > 0 && clock.now() < until) clock.wait_until(changed_, lock.native(), until);
  }
  /// The clock of wait().
  time_source& join_clock() noexcept { return join_clock_; }
  /// Gives up the threads that still run: they do not use the environment any more.
  void detach() noexcept {
    const base::lock_guard lock(mutex_);
    if (std::exchange(detached_, true)) return;
    for (; working_ > 0; --working_) environment_.on_thread_event(environment::worker::ends);
  }

 private:
  void begin() noexcept {
    const base::lock_guard lock(mutex_);
    ++running_;
    if (detached_) return;
    ++working_;
    environment_.on_thread_event(environment::worker::hired);
  }
  void tell(environment::worker worker) noexcept {
    const base::lock_guard lock(mutex_);
    if (detached_) return;
    if (worker == environment::worker::ends) --working_;
    environment_.on_thread_event(worker);
  }
  void end() noexcept {
    const base::lock_guard lock(mutex_);
    --running_;
    join_clock_.notify(changed_);
  }

  environment& environment_;
  time_source& join_clock_;  // read once, because a thread may end after the environment
  base::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_ DLOCK_GUARDED_BY(mutex_) = 0;
  std::size_t working_ DLOCK_GUARDED_BY(mutex_) = 0;  // those that have not reported their end
  bool detached_ DLOCK_GUARDED_BY(mutex_) = false;
};

/// The loop of a thread with several steps. It calls each step when it is due, or sooner if another thread wants that.
/// If several are due, the first one goes first.
template <std::size_t things>
class work_loop {
 public:
  explicit work_loop(time_source& time) : time_(time) { due_.fill(instant::max()); }

  /// Calls the steps until stop(). Each does what is due, and returns when it must be called again.
  template <class... Steps>
  requires(sizeof...(Steps) == things) void run(Steps... steps) {
    base::unique_lock lock(mutex_);
    for (;;) {
      const auto now = time_.now();
      const auto due = std::find_if(due_.begin(), due_.end(), [now](instant each) { return each <= now; });
      if (due != due_.end()) {
        *due = instant::max();
        auto which = due - due_.begin();
        lock.unlock();
        auto next = instant::max();
        static_cast<void>(((which-- == 0 && (next = steps(now), true)) || ...));
        lock.lock();
        *due = std::min(*due, next);
      } else if (stop_) {
        return;
      } else {
        time_.wait_until(changed_, lock.native(), *std::min_element(due_.begin(), due_.end()));
      }
    }
  }
  /// That step must be called no later than then.
  void due_by(instant when, std::size_t which = 0) noexcept {
    const base::lock_guard lock(mutex_);
    if (when >= due_[which]) return;
    const bool sooner = when < *std::min_element(due_.begin(), due_.end());
    due_[which] = when;
    if (sooner) time_.notify(changed_);
  }
  void now(std::size_t which = 0) noexcept { due_by(instant{}, which); }
  /// Ends run() once nothing is due.
  void stop() noexcept {
    const base::lock_guard lock(mutex_);
    stop_ = true;
    time_.notify(changed_);
  }

 private:
  time_source& time_;
  base::mutex mutex_;
  std::condition_variable changed_;
  std::array<instant, things> due_ DLOCK_GUARDED_BY(mutex_){};
  bool stop_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
