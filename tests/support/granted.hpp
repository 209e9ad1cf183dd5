// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace dlock::test {

/// Whether a call gave a lease, a multi_lease or a locked_row, which is released at once. Code that isn't a test names
/// the lease.
template <class Held>
bool granted(const Held& held) {
  return static_cast<bool>(held);
}

}  // namespace dlock::test
