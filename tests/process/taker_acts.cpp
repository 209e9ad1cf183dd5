// SPDX-License-Identifier: BSL-1.0
#include "process/taker_acts.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "dlock/distributed_mutex.hpp"
#include "dlock/owner.hpp"
#include "dlock/with_lock.hpp"

namespace dlock::test {

namespace {

using namespace std::chrono_literals;

std::atomic<unsigned> grants{0};
std::atomic<unsigned> timeouts{0};

}  // namespace

void start_loop(lock_service& locks, const std::string& key) {
  std::thread([&locks, key] {
    for (;;) {
      try {
        locks.with_lock(key, {.ttl = 10s, .wait = 20s}, [] { std::this_thread::sleep_for(2ms); });
        ++grants;
      } catch (const lock_timeout&) {
        ++timeouts;
      }
    }
  }).detach();
}

std::string looped() { return std::to_string(grants) + " " + std::to_string(timeouts); }

void exit_inside(lock_service& locks, const std::string& key, const lock_options& as, const std::string& holder,
                 const std::function<void()>& inside) {
  const auto leave = [&inside] {
    inside();
    std::exit(0);
  };
  if (holder == "lease") locks.with_lock(key, as, leave);
  if (holder == "nested") {
    locks.with_lock(key, as, [&] { locks.with_lock(key, as, leave); });
  }
  if (holder == "leases") locks.with_locks({key, key + "-2", key + "-3"}, as, leave);
  if (holder == "mutex") {
    static distributed_mutex door{locks, key, as};  // destroyed before the service
    const std::lock_guard guard(door);
    leave();
  }
  if (holder == "task") {
    const owner_scope task;
    locks.with_lock(key, as, leave);
  }
}

}  // namespace dlock::test
