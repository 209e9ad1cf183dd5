// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>

#include "support/calls.hpp"

namespace dlock::test {

/// What the call takes where the machine does not stall: the least of up to `rounds` times, until one is below the
/// limit.
template <class F>
std::chrono::milliseconds undisturbed(std::chrono::milliseconds limit, F&& call, int rounds = 5) {
  auto least = duration_of(call);
  for (int i = 1; i < rounds && least >= limit; ++i) least = std::min(least, duration_of(call));
  return least;
}

}  // namespace dlock::test
