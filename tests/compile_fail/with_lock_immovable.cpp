// SPDX-License-Identifier: BSL-1.0
// fails: dlock: the result must be movable
#include "dlock/with_lock.hpp"

struct result {
#ifndef DLOCK_SHOULD_COMPILE
  result() = default;
  result(const result&) = delete;
#endif
};

int main() {
  dlock::default_service().with_lock("k", [] { return result(); });
}
