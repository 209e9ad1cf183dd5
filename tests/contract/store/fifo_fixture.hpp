// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contract/store/store_contract.hpp"
#include "contract/store/waiting_store.hpp"

namespace dlock::test {

/// A key that one process holds, and another one that asks for it in order.
struct ordered_key {
  explicit ordered_key(store_fixture& at) : one(at), other(at) {}

  actor one, other;
  std::uint64_t fence = one.acquire("k");

  void let_go() { REQUIRE(answer(one.release("k", fence)) == outcome::yes); }
  /// Asks for the key in order, as a process that is registered, or not.
  reply take(actor& by, bool registered = false) {
    return by.run({.action = verb::take,
                   .resource = "k",
                   .session = by.id,
                   .nonce = ++by.nonce,
                   .in_order = true,
                   .registered = registered});
  }
  reply poll(actor& by, bool registered = false) {
    return by.run(
        {.action = verb::poll, .resource = "k", .session = by.id, .in_order = true, .registered = registered});
  }
};

}  // namespace dlock::test
