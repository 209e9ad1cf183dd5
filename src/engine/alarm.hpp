// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/context.hpp"
#include "engine/grant.hpp"

namespace dlock::detail {

/// Rings when a local deadline passes: of sessions (asked for at each tick), of leases with an expiry of
/// their own, of max_hold. Does no I/O and runs no user code, so it is never late because of either.
class alarm {
 public:
  using rings = std::function<void(const std::shared_ptr<grant>&)>;
  using ticks = std::function<instant(instant)>;  // returns when to come back

  alarm(context& shared, rings ring, ticks tick) : shared_(shared), ring_(std::move(ring)), tick_(std::move(tick)) {}

  void set(const std::shared_ptr<grant>& one, instant when);
  void clear(grant& one) noexcept;
  /// There is something new for the next tick. Wakes a thread: for what happens seldom.
  void wake() noexcept;
  /// Something hangs if it is not over by then. Wakes the thread only if it would look later.
  void look_by(instant limit) noexcept {
    if (limit < looks_at_.load()) wake();
  }

  void run();
  void stop() noexcept;

 private:
  context& shared_;
  const rings ring_;
  const ticks tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<instant, std::weak_ptr<grant>> timers_;
  bool new_ = false;                               // something came while run() was not waiting
  std::atomic<instant> looks_at_{instant::max()};  // max: it is looking, and may have passed what comes now
  bool stop_ = false;
};

}  // namespace dlock::detail
