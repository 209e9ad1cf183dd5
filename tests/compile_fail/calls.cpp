// SPDX-License-Identifier: BSL-1.0
// Calls that take or wait for a lock, and their options.
#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

// fails: dlock: this call takes one key; a list of keys goes to acquire_all
#ifndef MISUSE_acquire_list
const auto acquire_list = dlock::default_service().acquire_all({"a", "b"});
#else
const auto acquire_list = dlock::default_service().acquire({"a", "b"});
#endif

// fails: dlock: asynchronous calls need #include <dlock/async.hpp>
void async_header_missing() {
  const auto handler = [](std::exception_ptr, dlock::lease) {};
#ifndef MISUSE_async_header_missing
  static_cast<void>(handler);
#else
  dlock::default_service().async_acquire("k", {}, handler);
#endif
}

// fails: no matching (constructor|function|member function)|cannot convert
#ifndef MISUSE_lock_keys_not_keys
const auto lock_keys_not_keys = dlock::default_service().try_acquire_all({"1", "2"});
#else
const auto lock_keys_not_keys = dlock::default_service().try_acquire_all({1, 2});
#endif

// fails: dlock: options have names
#ifndef MISUSE_options_duration
const auto options_duration = dlock::default_service().acquire("k", {.wait = 5s});
#else
const auto options_duration = dlock::default_service().acquire("k", 5s);
#endif

// fails: dlock: a time in lock_options has a unit and is whole milliseconds
#ifndef MISUSE_options_fraction_of_millisecond
const auto options_fraction_of_millisecond = dlock::default_service().acquire("k", {.wait = 500ms});
#else
const auto options_fraction_of_millisecond = dlock::default_service().acquire("k", {.wait = 0.5s});
#endif

// fails: dlock: this call takes no function
void options_handler() {
#ifndef MISUSE_options_handler
  dlock::default_service().with_lock("k", [] {});
#else
  dlock::default_service().acquire("k", [] {});
#endif
}

// fails: dlock: this call takes one key
#ifndef MISUSE_options_key
const auto options_key = dlock::default_service().acquire_all({"a", "b"});
#else
const auto options_key = dlock::default_service().acquire("a", "b");
#endif

// fails: dlock: behind the key stand lock_options
#ifndef MISUSE_options_other
const auto options_other = dlock::default_service().try_acquire("k", {});
#else
const auto options_other = dlock::default_service().try_acquire("k", 5);
#endif

// fails: dlock: a time in lock_options has a unit and is whole milliseconds
#ifndef MISUSE_options_time_without_unit
const auto options_time_without_unit = dlock::default_service().acquire("k", {.ttl = 30s, .wait = 5s});
#else
const auto options_time_without_unit = dlock::default_service().acquire("k", {.ttl = 30s, .wait = 5});
#endif
