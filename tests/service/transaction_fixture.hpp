// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "service/engine_fixture.hpp"
#include "service/fake_transactions.hpp"

namespace dlock::test {

struct transaction_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = service();

  /// Releases that a transaction's end has queued need the clock.
  ~transaction_fixture() {
    if (locks != nullptr) static_cast<void>(eventually([this] { return locks->close(0ms).empty(); }));
  }

  /// A lease that begins and ends inside `in`.
  std::uint64_t hold_in(fake_transaction& in, const lock_key& key) {
    const auto before = in.waited_for();
    const auto held = locks->acquire(key);
    CHECK(in.waited_for() == before);
    return held.fencing_token();
  }
  /// Keeps the background in the release of another key until the gate is opened: what is queued for it comes late.
  std::shared_ptr<gate> keep_background_busy() {
    const auto busy = store->hold(verb::release);
    fake_transaction open(*store);
    hold_in(open, "busy");
    open.end();
    static_cast<void>(busy->reached());
    return busy;
  }
  bool freed(const lock_key& key) {
    return eventually([&] { return is_free(key); });
  }
};

}  // namespace dlock::test
