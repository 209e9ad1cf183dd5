// SPDX-License-Identifier: GPL-2.0-or-later
#include <atomic>
#include <thread>

#include "contract/service/multi_contract.hpp"
#include "contract/service/service_contract.hpp"
#include "dlock/stores/memory.hpp"

namespace dlock::test {

namespace {

/// Time runs about five times as fast as outside.
class memory_place final : public service_place {
 public:
  ~memory_place() override {
    over_ = true;
    ticking_.join();
  }
  std::shared_ptr<store> open() override { return rows_; }
  time_source& time() override { return clock_; }

 private:
  stores::virtual_clock clock_;
  std::shared_ptr<stores::memory_store> rows_ = std::make_shared<stores::memory_store>(clock_);
  std::atomic<bool> over_{false};
  std::thread ticking_{[this] {
    while (!over_) {
      clock_.advance(5ms);
      std::this_thread::sleep_for(1ms);
    }
  }};
};

}  // namespace

std::unique_ptr<service_place> make_service_place() { return std::make_unique<memory_place>(); }

}  // namespace dlock::test
