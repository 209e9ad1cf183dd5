// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "contract/store_fixture.hpp"
#include "dlock/stores/memory.hpp"

namespace dlock::test {

/// A store in this process, made with a clock that stands still until a test moves it, or asks for one that runs: about
/// five times as fast as outside. All who open it share it, and compete as processes do.
template <class Store, class Fixture = store_fixture>
class virtual_fixture : public Fixture {
 public:
  ~virtual_fixture() override {
    over_ = true;
    if (ticking_.joinable()) ticking_.join();
  }
  std::shared_ptr<store> open() override { return store_; }
  const std::shared_ptr<Store>& opened() const noexcept { return store_; }
  void pass(std::chrono::microseconds time) override { clock_.advance(time); }
  time_source& time() override {
    if (!ticking_.joinable()) ticking_ = std::thread([this] { tick(); });
    return clock_;
  }

 private:
  void tick() {
    while (!over_) {
      clock_.advance(std::chrono::milliseconds{5});
      // For those who have been woken: time does not pass while the machine does not let them run, or not as fast.
      static_cast<void>(clock_.at_rest({}, std::chrono::milliseconds{20}));
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  stores::virtual_clock clock_;
  std::shared_ptr<Store> store_ = std::make_shared<Store>(clock_);
  std::atomic<bool> over_{false};
  std::thread ticking_;
};

}  // namespace dlock::test
