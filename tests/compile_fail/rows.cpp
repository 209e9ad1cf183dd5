// SPDX-License-Identifier: BSL-1.0
// Rows of classes that lack something: what ODB generates of them is made with the tests of rows.
#include "by_hand-odb.hxx"
#include "dlock/odb/lock_row.hpp"
#include "entities-odb.hxx"
#include "unlockable-odb.hxx"

odb::database& database();

// fails: dlock: rows of this class cannot be locked in place: it is no mapped class here
struct plain {
  int id;
};

#ifndef MISUSE_row_not_mapped
const auto row_not_mapped = dlock::lock_row<dlock::test::order>(dlock::default_service(), database(), 42);
#else
const auto row_not_mapped = dlock::lock_row<plain>(dlock::default_service(), database(), 42);
#endif

// fails: dlock: rows of this class cannot be locked in place: add a member `dlock::lock_columns lock;`
#ifndef MISUSE_row_without_lock
const auto row_without_lock = dlock::lock_row<dlock::test::order>(dlock::default_service(), database(), 42);
#else
const auto row_without_lock = dlock::lock_row<dlock::test::bare>(dlock::default_service(), database(), 42);
#endif

// fails: dlock: rows of this class cannot be locked in place: make it `#pragma db object optimistic` and add
#ifndef MISUSE_row_without_version
const auto row_without_version = dlock::lock_row<dlock::test::order>(dlock::default_service(), database(), 42);
#else
const auto row_without_version = dlock::lock_row<dlock::test::draft>(dlock::default_service(), database(), 42);
#endif

// fails: dlock: rows of this class cannot be locked in place: nothing says which columns its id has; map its header by
#ifndef MISUSE_row_without_traits
const auto row_without_traits = dlock::lock_row<dlock::test::order>(dlock::default_service(), database(), 42);
#else
const auto row_without_traits = dlock::lock_row<dlock::test::by_hand>(dlock::default_service(), database(), {});
#endif

// fails: deleted (member )?function .*operator bool|invokes a deleted function
int row_condition_of_temporary() {
#ifndef MISUSE_row_condition_of_temporary
  if (const auto row = dlock::try_lock_row<dlock::test::order>(dlock::default_service(), database(), 42)) return 1;
#else
  if (dlock::try_lock_row<dlock::test::order>(dlock::default_service(), database(), 42)) return 1;
#endif
  return 0;
}
