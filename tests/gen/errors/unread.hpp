// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

struct DLOCK_LOCKED("a") in_class_head {
  DLOCK_LOCKED("a") int field;
  DLOCK_LOCKED("a") typedef int number;
  DLOCK_DEFAULTS(.ttl = 5s) void function();
  DLOCK_ON_BUSY(skip) void no_key();
  DLOCK_VERIFIED(db) void no_key_either();
};
DLOCK_LOCKED("a") extern int variable;
inline void function() {
  DLOCK_LOCKED("a") static int local = 0;
  local = 1;
}
