// SPDX-License-Identifier: BSL-1.0
// A library of somebody who uses dlock, and names no store: takes and releases one lock.
#include <dlock/dlock.hpp>
#include <dlock/version.hpp>

int take_lock(const char* url) {
  if (dlock::library_version() != dlock::header_version) return 2;
  dlock::lock_service locks{url};
  const dlock::lease held = locks.acquire("package:test");
  return held ? 0 : 1;
}
