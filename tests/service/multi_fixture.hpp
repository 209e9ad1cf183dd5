// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "service/engine_fixture.hpp"

namespace dlock::test {

/// A service under test, another program, and what tests of several keys ask.
struct multi_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = service();
  std::unique_ptr<lock_service> rival = foreign();

  /// Afterwards the keys' rows exist and are free, and the session is open.
  void known(const lock_keys& keys) { locks->acquire_all(keys).release(); }
  bool all_free(const lock_keys& keys) {
    return std::all_of(keys.begin(), keys.end(), [&](const auto& each) { return is_free(each); });
  }
  /// The keys of all such events, in their order.
  std::string keys_of(event::kind kind) {
    std::string keys;
    for (const auto& each : seen->records()) {
      if (each.what == kind) keys += each.key;
    }
    return keys;
  }
};

}  // namespace dlock::test
