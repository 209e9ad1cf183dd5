// SPDX-License-Identifier: BSL-1.0
// fails: dlock: rows of this class cannot be locked in place: make it `#pragma db object optimistic` and add
#include "dlock/odb/lock_row.hpp"
#include "entities-odb.hxx"
#include "unlockable-odb.hxx"

int main() {
  odb::database* db = nullptr;
#ifdef DLOCK_SHOULD_COMPILE
  auto row = dlock::lock_row<dlock::test::order>(dlock::default_service(), *db, 42);
#else
  auto row = dlock::lock_row<dlock::test::draft>(dlock::default_service(), *db, 42);
#endif
  return row ? 0 : 1;
}
