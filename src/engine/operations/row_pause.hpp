// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>

namespace dlock::engine {

/// The pauses of an operation whose statement has met a locked row, and got no connection that may wait for it. They
/// double, because another program may have the row locked for long.
class row_pause {
 public:
  static constexpr std::chrono::microseconds shortest{5'000};
  static constexpr std::chrono::microseconds longest{80'000};

  std::chrono::microseconds next() noexcept { return last_ = std::clamp(2 * last_, shortest, longest); }

 private:
  std::chrono::microseconds last_{0};
};

}  // namespace dlock::engine
