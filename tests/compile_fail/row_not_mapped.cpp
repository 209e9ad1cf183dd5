// SPDX-License-Identifier: BSL-1.0
// fails: dlock: rows of this class cannot be locked in place: it is no mapped class here
#include "dlock/odb/lock_row.hpp"
#include "entities-odb.hxx"

struct plain {
  int id;
};

int main() {
  odb::database* db = nullptr;
#ifdef DLOCK_SHOULD_COMPILE
  auto row = dlock::lock_row<dlock::test::order>(dlock::default_service(), *db, 42);
#else
  auto row = dlock::lock_row<plain>(dlock::default_service(), *db, 42);
#endif
  return row ? 0 : 1;
}
