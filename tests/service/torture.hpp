// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "support/faulty_store.hpp"

namespace dlock::test {

/// What a lock protects: sees two at a time, and a fence that is not greater than the last.
struct guarded {
  std::atomic<int> inside{0};
  std::uint64_t last_fence = 0;  // guarded by the lock alone: a data race if that fails
  std::atomic<int> wrong{0};

  void enter(std::uint64_t fence) {
    if (++inside != 1) ++wrong;
    if (fence <= last_fence) ++wrong;
    last_fence = fence;
  }
  void leave() { --inside; }
};

/// Faults of statements about keys, at random, until its end. Then there are no more, and none is left over.
class mischief {
 public:
  /// `skips`: how many statements are let pass before a fault, at the most.
  mischief(std::shared_ptr<faulty_store> store, unsigned seed, unsigned skips)
      : store_(std::move(store)), thread_([this, seed, skips] { run(std::mt19937(seed), skips); }) {}
  ~mischief() {
    over_ = true;
    thread_.join();
    store_->settles(true);
    store_->forget_scripts();
    store_->run_ghosts();
  }
  mischief(const mischief&) = delete;
  mischief& operator=(const mischief&) = delete;

 private:
  void run(std::mt19937 random, unsigned skips) {
    constexpr std::array verbs{verb::take, verb::insert, verb::poll, verb::take_over, verb::release, verb::cancel};
    constexpr std::array fates{fate::drop, fate::ghost, fate::vanish};
    while (!over_) {
      store_->next(verbs[random() % verbs.size()],
                   {.what = fates[random() % fates.size()], .skip = static_cast<unsigned>(random() % (skips + 1))});
      store_->settles(random() % 4 != 0);
      if (random() % 8 == 0) store_->run_ghosts();
      std::this_thread::sleep_for(std::chrono::microseconds{300});
    }
  }

  const std::shared_ptr<faulty_store> store_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace dlock::test
