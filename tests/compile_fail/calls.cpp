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

// fails: dlock: a time in lock_options has a unit and is whole milliseconds.*Its fields are ttl, wait
#ifndef MISUSE_options_field_unknown
const auto options_field_unknown = dlock::default_service().acquire("k", {.ttl = 30s, .wait = 2s});
#else
const auto options_field_unknown = dlock::default_service().acquire("k", {.ttl = 30s, .timeout = 2s});
#endif

// fails: dlock: a key is a text
#ifndef MISUSE_acquire_number
const auto acquire_number = dlock::default_service().acquire(dlock::key<"order:{id}">(42));
#else
const auto acquire_number = dlock::default_service().acquire(42);
#endif

// fails: dlock: a key is a text
#ifndef MISUSE_with_lock_number
const auto with_lock_number = dlock::default_service().with_lock("42", {.wait = 2s}, [] { return 1; });
#else
const auto with_lock_number = dlock::default_service().with_lock(42, {.wait = 2s}, [] { return 1; });
#endif

// fails: dlock: this call takes one key; a list of keys goes to acquire_all
#ifndef MISUSE_acquire_vector
const auto acquire_vector = dlock::default_service().try_acquire_all(std::vector<std::string>{"a", "b"});
#else
const auto acquire_vector = dlock::default_service().try_acquire(std::vector<std::string>{"a", "b"});
#endif

// fails: dlock: this call takes one key; a list of keys goes to acquire_all
#ifndef MISUSE_with_lock_list
const auto with_lock_list = dlock::default_service().with_locks({"a", "b"}, [] { return 1; });
#else
const auto with_lock_list = dlock::default_service().with_lock({"a", "b"}, [] { return 1; });
#endif

// fails: dlock: this call takes a list of keys
#ifndef MISUSE_acquire_all_texts
const auto acquire_all_texts = dlock::default_service().acquire_all({"a", "b"});
#else
const auto acquire_all_texts = dlock::default_service().acquire_all("a", "b");
#endif

// fails: dlock: this call takes a list of keys
#ifndef MISUSE_with_locks_text
const auto with_locks_text = dlock::default_service().with_locks({"a"}, {.wait = 2s}, [] { return 1; });
#else
const auto with_locks_text = dlock::default_service().with_locks("a", {.wait = 2s}, [] { return 1; });
#endif

// fails: dlock: a time has a unit and is whole milliseconds: options.ttl = 30s
void options_assigned_number() {
  dlock::lock_options options;
#ifndef MISUSE_options_assigned_number
  options.ttl = 30s;
  options.ttl = std::nullopt;
  options.ttl = {};
  options.ttl = options.retry.pause;
  options.ttl = std::optional<std::chrono::milliseconds>(5s);
#else
  options.ttl = 30;
#endif
}
