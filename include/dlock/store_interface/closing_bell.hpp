// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// The key that a caller watches besides its own while it waits for the exclusive lock of a key that has members
/// (capabilities::shares, capabilities::wakes_one()). When the last member has left a closed key, the store wakes the
/// first watch of its bell, and not a caller that waits to become a member. Nobody takes that key.
class closing_bell {
 public:
  explicit closing_bell(std::string_view key) noexcept {
    std::size_t at = prefix.copy(bytes_.data(), prefix.size());
    // Two keys with one hash only cost wake-ups.
    for (const std::uint64_t begin : {std::uint64_t{0xcbf29ce484222325U}, std::uint64_t{0x9E3779B97F4A7C15U}}) {
      std::uint64_t hash = begin;
      for (const char each : key) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
      for (int i = 0; i != 8; ++i, hash >>= 8U) bytes_[at++] = static_cast<char>(hash & 0xFFU);
    }
  }
  std::string_view view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  static constexpr std::string_view prefix{"\0close/", 7};
  std::array<char, prefix.size() + 16> bytes_{};
};

}  // namespace dlock
