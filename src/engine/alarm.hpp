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
  /// There may be something new for the next tick. Costs two atomic operations unless the thread sleeps for long.
  void wake() noexcept;

  void run();
  void stop() noexcept;

 private:
  context& shared_;
  const rings ring_;
  const ticks tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<instant, std::weak_ptr<grant>> timers_;
  bool stop_ = false;
  // Sequentially consistent, and each side writes its own before it reads the other's: either run() sees what is new,
  // or wake() sees that it sleeps.
  std::atomic<bool> new_{false};
  std::atomic<bool> sleeps_long_{false};
};

}  // namespace dlock::detail
