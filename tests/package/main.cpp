// SPDX-License-Identifier: BSL-1.0
// A program of somebody who uses dlock: takes and releases one lock at the store that the first argument names.
#include <dlock/dlock.hpp>
#include <dlock/version.hpp>

int main(int argc, char** argv) {
  if (dlock::library_version() != dlock::header_version) return 2;
  dlock::lock_service locks{argc > 1 ? argv[1] : "memory:"};
  const dlock::lease held = locks.acquire("package:test");
  return held ? 0 : 1;
}
