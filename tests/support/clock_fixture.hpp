// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>

#include "dlock/stores/memory.hpp"
#include "support/calls.hpp"

namespace dlock::test {

/// Time that stands still until the test moves it.
struct clock_fixture {
  stores::virtual_clock clock{};

  /// Lets time pass, and waits until all are at rest. False: they go on.
  [[nodiscard]] bool at_rest_after(std::chrono::microseconds time, const stores::virtual_clock::known& but = {},
                                   std::chrono::milliseconds limit = std::chrono::seconds{20}) {
    clock.advance(time);
    return clock.at_rest(but, limit);
  }
  /// Whether `ready` comes to hold as time passes, in steps.
  template <class F>
  [[nodiscard]] bool as_time_passes(F ready, std::chrono::microseconds step = std::chrono::milliseconds{100}) {
    return eventually([&] {
      clock.advance(step);
      return ready();
    });
  }
};

}  // namespace dlock::test
