// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <utility>

#include "dlock/lease.hpp"
#include "support/eventually.hpp"

namespace dlock::test {

/// Whether the lease is renewed from now on, however long that takes: what is left of it grows by nothing else. Twice,
/// because the answer to the first renewal may have been under way before.
[[nodiscard]] inline bool renewed(const lease& held) {
  auto left = held.remaining();
  const auto grows = [&] {
    const auto now = held.remaining();
    return now > std::exchange(left, now);
  };
  return eventually(grows) && eventually(grows);
}

}  // namespace dlock::test
