// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <thread>
#include <vector>

namespace dlock::test {

/// Calls `body` on so many threads at the same time, each with its number, and waits for their end.
template <class F>
void on_threads(int count, F body) {
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i) all.emplace_back([&body, i] { body(i); });
  for (auto& each : all) each.join();
}

}  // namespace dlock::test
