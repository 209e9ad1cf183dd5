// SPDX-License-Identifier: GPL-2.0-or-later
#include "contract/store/store_contract.hpp"
#include "dlock/stores/memory.hpp"

namespace dlock::test {

namespace {

/// Store objects that share one memory_store compete as processes do.
class memory_place final : public store_place {
 public:
  std::shared_ptr<store> open() override { return store_; }
  void pass(microseconds time) override { clock_.advance(time); }

 private:
  stores::virtual_clock clock_;
  std::shared_ptr<stores::memory_store> store_ = std::make_shared<stores::memory_store>(clock_);
};

}  // namespace

std::unique_ptr<store_place> make_store_place() { return std::make_unique<memory_place>(); }

}  // namespace dlock::test
