// SPDX-License-Identifier: BSL-1.0
#define DLOCK_NO_MACROS

#include "dlock/dlock.hpp"
#include "support/test.hpp"
#include "unit/api/memory_fixture.hpp"

#if defined(DISTRIBUTED_LOCKED) || defined(DISTRIBUTED_LOCKED_AS) || defined(DISTRIBUTED_TRY_LOCKED) || \
    defined(DISTRIBUTED_TRY_LOCKED_AS)
#error "DLOCK_NO_MACROS must leave no macro"
#endif

TEST_CASE_METHOD(dlock::test::memory_fixture, "macros: DLOCK_NO_MACROS leaves them out, and with_lock does the same") {
  bool free_inside = true;
  locks.with_lock("k", [&] { free_inside = is_free("k"); });
  CHECK_FALSE(free_inside);
}
