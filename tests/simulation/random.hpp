// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace dlock::simulation {

/// The one source of chance of a run: the same seed gives the same run (splitmix64).
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  std::uint64_t bits() noexcept {
    state_ += 0x9e3779b97f4a7c15ULL;
    auto made = state_;
    made = (made ^ (made >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    made = (made ^ (made >> 27U)) * 0x94d049bb133111ebULL;
    return made ^ (made >> 31U);
  }
  /// 0 to `end` - 1; `end` > 0.
  std::uint64_t below(std::uint64_t end) noexcept { return bits() % end; }
  /// Both are possible.
  std::int64_t between(std::int64_t least, std::int64_t most) noexcept {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }
  /// So often of a million times.
  bool chance(std::uint64_t ppm) noexcept { return ppm > 0 && below(1'000'000) < ppm; }

 private:
  std::uint64_t state_;
};

}  // namespace dlock::simulation
