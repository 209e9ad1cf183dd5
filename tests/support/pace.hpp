// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/error.hpp"

namespace dlock::test {

/// Plays a scene with longer and longer times until it succeeds: a machine that stalls fails short ones, a broken
/// library all. `scene(slower)` has its times multiplied by that; an error of the library's is a failure, too.
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

}  // namespace dlock::test
