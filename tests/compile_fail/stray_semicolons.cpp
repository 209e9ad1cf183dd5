// SPDX-License-Identifier: BSL-1.0
// A semicolon between a macro and its block. Only g++ warns of it.
#include "dlock/dlock.hpp"

// As -Wextra -Werror do.
#pragma GCC diagnostic error "-Wempty-body"

// fails: empty body
int macros_stray_semicolon() {
  int result = 0;
#ifndef MISUSE_macros_stray_semicolon
  DISTRIBUTED_LOCKED("k") { ++result; }
#else
  DISTRIBUTED_LOCKED("k");
  { ++result; }
#endif
  return result;
}

// fails: empty body
int macros_try_stray_semicolon() {
  int result = 0;
#ifndef MISUSE_macros_try_stray_semicolon
  DISTRIBUTED_TRY_LOCKED("k") { ++result; }
#else
  DISTRIBUTED_TRY_LOCKED("k");
  { ++result; }
#endif
  return result;
}
