// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <thread>

namespace dlock::test {

/// Whether `ready` comes to hold. Asks again and again, for what other threads do in their own time; the limit is
/// only there to end a failing test.
template <class F>
[[nodiscard]] bool eventually(F&& ready, std::chrono::milliseconds limit = std::chrono::seconds{20}) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!ready()) {
    if (std::chrono::steady_clock::now() >= end) return static_cast<bool>(ready());
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  return true;
}

}  // namespace dlock::test
