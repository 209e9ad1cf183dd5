// SPDX-License-Identifier: BSL-1.0
// Calls a function through what dlock-gen made of its header.
#include <dlock/dlock.hpp>

#include "counters.locked.hpp"

int main() {
  dlock::lock_service locks("memory:");
  shop::counters_locked counters(locks);
  shop::counters& as_base = counters;
  return as_base.next("a") == 1 && as_base.next("a") == 2 && locks.held_keys().empty() ? 0 : 1;
}
