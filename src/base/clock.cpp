// SPDX-License-Identifier: BSL-1.0
#include "dlock/store_interface/clock.hpp"

#include <time.h>

#include <algorithm>
#include <utility>

#include "base/signals.hpp"

namespace dlock {

boot_clock::time_point boot_clock::now() noexcept {
#ifdef CLOCK_BOOTTIME
  timespec t{};
  // Fails only for an unknown clock id, which the #ifdef excludes.
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return time_point{std::chrono::seconds{t.tv_sec} + duration{t.tv_nsec / 1000}};
#else
  return time_point{std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch())};
#endif
}

namespace {

class system_environment final : public environment {
 public:
  instant now() const noexcept override { return boot_clock::now(); }
  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    // No condition variable waits on CLOCK_BOOTTIME, so this waits for the difference. The cap keeps a distant instant
    // from overflowing what the wait adds to it.
    const auto remaining = until - boot_clock::now();
    if (remaining <= boot_clock::duration::zero()) return;
    wake.wait_for(lock, std::min<boot_clock::duration>(remaining, std::chrono::hours{1}));
  }
};

}  // namespace

void environment::start_thread(std::function<void()> body) { base::start_thread(std::move(body)).detach(); }

time_source& environment::join_clock() noexcept { return system_time(); }

environment& system_time() noexcept {
  // Never destroyed: threads of a service that outlives main() may still ask for the time.
  static auto* const instance = new system_environment;
  return *instance;
}

}  // namespace dlock
