// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ctime>

#include <algorithm>
#include <chrono>

namespace dlock::test {

/// The processor time of the calling thread in `work`. Of some tries the least: other programs may take the cache.
template <class F>
std::chrono::nanoseconds processor_time(F work) {
  const auto spent = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
  };
  auto least = std::chrono::nanoseconds::max();
  for (int tries = 0; tries != 3; ++tries) {
    const auto begun = spent();
    work();
    least = std::min(least, spent() - begun);
  }
  return least;
}

}  // namespace dlock::test
