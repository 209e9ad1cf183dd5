// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <memory>

#include "dlock/lock_service.hpp"
#include "dlock/owner.hpp"
#include "dlock/stores/memory.hpp"
#include "support/calls.hpp"
#include "support/recording_observer.hpp"

namespace dlock::test {

/// Two services, as if in two processes, on one memory store whose time stands still until the test moves it.
/// `locks` is the default service and waits for nothing unless told.
struct memory_fixture {
  stores::virtual_clock clock{};
  std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();
  std::shared_ptr<stores::memory_store> store = std::make_shared<stores::memory_store>(clock);
  lock_service locks{store,
                     {.defaults = {.wait = std::chrono::milliseconds{0}},
                      .close_limit = std::chrono::milliseconds{0},
                      .observer = seen,
                      .time = &clock}};
  lock_service rival{store, {.close_limit = std::chrono::milliseconds{0}, .time = &clock}};

  memory_fixture() { set_default_service(locks); }

  /// Whether another program could have the key now; it is not kept.
  bool is_free(const lock_key& key) {
    const owner_scope foreign;
    return granted(rival.try_acquire(key));
  }

  /// Lets so much time pass that no lease with the default ttl survives it.
  void outlive_leases() { clock.advance(std::chrono::minutes{10}); }
};

}  // namespace dlock::test
