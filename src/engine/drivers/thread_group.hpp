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

/// Threads of a service, counted apart from it: the last of them may be what ends it.
class thread_group {
 public:
  explicit thread_group(environment& in) noexcept : environment_(in), join_clock_(in.join_clock()) {}
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;

  /// Starts one, detached, that runs `body` and then ends it. Throws std::system_error.
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
        // Only now: then the waiting thread destroys what the body held, not a stray thread.
        in->end();
      });
    } catch (...) {
      in->tell(environment::worker::ends);
      in->end();
      throw;
    }
  }

  /// Until there are none, or no longer than that.
  void wait(std::chrono::milliseconds limit) {
    auto& clock = join_clock();
    const auto until = clock.now() + limit;
    base::unique_lock lock(mutex_);
    while (running_ > 0 && clock.now() < until) clock.wait_until(changed_, lock.native(), until);
  }
  /// The clock by which it is waited.
  time_source& join_clock() noexcept { return join_clock_; }
  /// Those that still run are waited for no more, and do not use the environment.
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
  time_source& join_clock_;  // asked for once: a thread may end after the environment
  base::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_ DLOCK_GUARDED_BY(mutex_) = 0;
  std::size_t working_ DLOCK_GUARDED_BY(mutex_) = 0;  // of them: those that have not reported their end
  bool detached_ DLOCK_GUARDED_BY(mutex_) = false;
};

/// The loop of a thread that does some things, each when it is due, or sooner if another thread calls for it. If
/// several are due, the first of them goes first.
template <std::size_t things>
class work_loop {
 public:
  explicit work_loop(time_source& time) : time_(time) { due_.fill(instant::max()); }

  /// Calls the steps until stop(): each does what is due and says when it wants to be called again.
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
  /// The next call of that step is wanted by then.
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
