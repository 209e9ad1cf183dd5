// SPDX-License-Identifier: GPL-2.0-or-later
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
