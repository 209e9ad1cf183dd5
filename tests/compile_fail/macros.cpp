// SPDX-License-Identifier: BSL-1.0
// The macros.
#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

// fails: dlock: options have names
int macros_duration() {
#ifndef MISUSE_macros_duration
  DISTRIBUTED_LOCKED("k", {.wait = 5s}) { return 1; }
#else
  DISTRIBUTED_LOCKED("k", 5s) { return 1; }
#endif
  return 0;
}

// fails: else|expected expression
// What waits for its lock has no busy branch: only TRY has.
int macros_else() {
#ifndef MISUSE_macros_else
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") { return 0; }
#else
  DISTRIBUTED_LOCKED("k") { return 0; }
#endif
  else {
    return 1;
  }
  return 0;
}

// fails: const|qualifiers
void macros_release_in_body() {
  DISTRIBUTED_LOCKED_AS(held, "k") {
#ifndef MISUSE_macros_release_in_body
    held.ensure_held();
#else
    held.release();
#endif
  }
}

// fails: const|qualifiers
void macros_release_of_list_in_body() {
  DISTRIBUTED_LOCKED_AS(held, {"a", "b"}) {
#ifndef MISUSE_macros_release_of_list_in_body
    held.ensure_held();
#else
    held.release();
#endif
  }
}

// fails: dlock: options have names
int macros_service_duration() {
#ifndef MISUSE_macros_service_duration
  DISTRIBUTED_TRY_LOCKED(dlock::default_service(), "k", {.wait = 5s}) { return 1; }
#else
  DISTRIBUTED_TRY_LOCKED(dlock::default_service(), "k", 5s) { return 1; }
#endif
  return 0;
}

// fails: dlock: a time in lock_options has a unit and is whole milliseconds
void macros_time_without_unit() {
#ifndef MISUSE_macros_time_without_unit
  DISTRIBUTED_LOCKED("k", {.wait = 5s}) {}
#else
  DISTRIBUTED_LOCKED("k", {.wait = 5}) {}
#endif
}

// fails: held
// The lease has a name only where the program gives it one.
int macros_try_name_hidden() {
#ifndef MISUSE_macros_try_name_hidden
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") { held.ensure_held(); }
#else
  DISTRIBUTED_TRY_LOCKED("k") { held.ensure_held(); }
#endif
  else {
    return 1;
  }
  return 0;
}

// fails: dlock: a time in lock_options has a unit and is whole milliseconds
void macros_try_time_without_unit() {
#ifndef MISUSE_macros_try_time_without_unit
  DISTRIBUTED_TRY_LOCKED("k", {.wait = 5s}) {}
#else
  DISTRIBUTED_TRY_LOCKED("k", {.wait = 5}) {}
#endif
}

// fails: dlock: this call takes one key
int macros_two_keys() {
#ifndef MISUSE_macros_two_keys
  DISTRIBUTED_LOCKED({"a", "b"}) { return 1; }
#else
  DISTRIBUTED_LOCKED("a", "b") { return 1; }
#endif
  return 0;
}

// fails: requires compound statement|expected \{
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

// fails: requires compound statement|expected \{
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
