// SPDX-License-Identifier: GPL-2.0-or-later
#include "contract/place.hpp"

#include <atomic>
#include <thread>

#include "dlock/stores/memory.hpp"

namespace dlock::test {

namespace {

using namespace std::chrono_literals;

/// Store objects that share one memory_store compete as processes do. Its time stands still until a test moves it, or asks
/// for a clock that runs: about five times as fast as outside.
class memory_place final : public store_place {
 public:
  ~memory_place() override {
    over_ = true;
    if (ticking_.joinable()) ticking_.join();
  }
  std::shared_ptr<store> open() override { return store_; }
  void pass(std::chrono::microseconds time) override { clock_.advance(time); }
  time_source& time() override {
    if (!ticking_.joinable()) ticking_ = std::thread([this] { tick(); });
    return clock_;
  }

 private:
  void tick() {
    while (!over_) {
      clock_.advance(5ms);
      std::this_thread::sleep_for(1ms);
    }
  }

  stores::virtual_clock clock_;
  std::shared_ptr<stores::memory_store> store_ = std::make_shared<stores::memory_store>(clock_);
  std::atomic<bool> over_{false};
  std::thread ticking_;
};

}  // namespace

std::unique_ptr<store_place> make_store_place() { return std::make_unique<memory_place>(); }

}  // namespace dlock::test
