// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>

#include "dlock/error.hpp"

namespace dlock::test {

/// Plays a scene with longer and longer times until it succeeds: a machine that stalls fails short ones, a broken library all.
/// `scene(slower)` has its times multiplied by that; an error of the library's is a failure, too.
template <class Scene>
[[nodiscard]] bool at_some_pace(Scene scene) {
  for (const int slower : {1, 5, 15}) {
    try {
      if (scene(slower)) return true;
    } catch (const dlock::error&) {
      // It was too slow for it.
    }
  }
  return false;
}

/// Whether one of five calls is answered within `limit`; one that always waits for longer never is.
template <class F>
[[nodiscard]] bool soon_once(std::chrono::milliseconds limit, F call) {
  for (int i = 0; i != 5; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    call();
    if (std::chrono::steady_clock::now() - begun < limit) return true;
  }
  return false;
}

}  // namespace dlock::test
