// SPDX-License-Identifier: BSL-1.0
// Functions that run under a lock.
#include <future>

#include "dlock/dlock.hpp"

using namespace std::chrono_literals;

struct order {
  int id;
};

bool sell_one();

// fails: names a field that the type does not have
void locked_field_unknown() {
#ifndef MISUSE_locked_field_unknown
  const auto place = dlock::default_service().locked<"order:{o.id}", "o">([](const order&) {});
#else
  const auto place = dlock::default_service().locked<"order:{o.number}", "o">([](const order&) {});
#endif
  place(order{42});
}

// fails: dlock: which name of the key pattern is which of several arguments
void locked_heads_mismatch() {
#ifndef MISUSE_locked_heads_mismatch
  const auto place = dlock::default_service().locked<"order:{o.id}:{user}", "o", "user">([](const order&, int) {});
#else
  const auto place = dlock::default_service().locked<"order:{o.id}">([](const order&, int) {});
#endif
  place(order{42}, 1);
}

// fails: dlock: the key of locked.key, fn. must be text, a lock_key, or callable
void locked_key_not_callable() {
#ifndef MISUSE_locked_key_not_callable
  const auto place = dlock::default_service().locked([](int id) { return std::to_string(id); }, [](int) {});
#else
  const auto place = dlock::default_service().locked([](int id) { return id; }, [](int) {});
#endif
  place(42);
}

// fails: dlock: the call passes more or fewer arguments than names are listed after the key pattern
void locked_names_mismatch() {
#ifndef MISUSE_locked_names_mismatch
  const auto place = dlock::default_service().locked<"order:{o.id}", "o", "_">([](const order&, int) {});
#else
  const auto place = dlock::default_service().locked<"order:{o.id}", "o">([](const order&, int) {});
#endif
  place(order{42}, 1);
}

// fails: dlock: the decorated function can't be called with these arguments
void locked_not_callable() {
  const auto place = dlock::default_service().locked("k", [](int) {});
#ifndef MISUSE_locked_not_callable
  place(42);
#else
  place("forty-two");
#endif
}

// fails: deleted (member )?function .*operator bool|invokes a deleted function
void locked_or_skip_bool_condition() {
  const auto tick = dlock::default_service().locked_or_skip("k", sell_one);
#ifndef MISUSE_locked_or_skip_bool_condition
  if (tick().value_or(false)) return;
#else
  if (tick()) return;
#endif
}

// fails: deleted (member )?function .*operator bool|invokes a deleted function
void try_with_lock_bool_condition() {
#ifndef MISUSE_try_with_lock_bool_condition
  while (dlock::default_service().try_with_lock("k", sell_one).value_or(false)) {
  }
#else
  while (dlock::default_service().try_with_lock("k", sell_one)) {
  }
#endif
}

// fails: dlock: the function returns a coroutine, which would run after the lock is released: co_await async_with_lock
struct awaitable {};
#ifdef MISUSE_with_lock_awaitable
struct awaiter {};
awaiter operator co_await(awaitable);
#endif
const auto with_lock_awaitable = dlock::default_service().try_with_lock("k", [] { return awaitable(); });

// fails: dlock: the function returns a coroutine, which would run after the lock is released: co_await async_with_lock
struct task {
#ifdef MISUSE_with_lock_coroutine
  struct promise_type;
#endif
};
const auto with_lock_coroutine = dlock::default_service().with_lock("k", [] { return task(); });

// fails: dlock: the function that runs under the lock is missing
void with_lock_function_missing() {
  const dlock::lock_options options;
#ifndef MISUSE_with_lock_function_missing
  dlock::default_service().with_lock("k", options, [] {});
#else
  dlock::default_service().with_lock("k", options);
#endif
}

// fails: dlock: the result must be movable
struct result {
#ifdef MISUSE_with_lock_immovable
  result() = default;
  result(const result&) = delete;
#endif
};
const auto with_lock_immovable = dlock::default_service().with_lock("k", [] { return result(); });

// fails: dlock: the function under the lock takes nothing, or the lease
void with_lock_lease_by_value() {
#ifndef MISUSE_with_lock_lease_by_value
  dlock::default_service().with_lock("k", [](const dlock::lease&) {});
#else
  dlock::default_service().with_lock("k", [](dlock::lease) {});
#endif
}

// fails: dlock: the function under several locks takes nothing, or the leases
// Under several keys there is a multi_lease, not a lease.
int with_lock_list_not_callable() {
#ifndef MISUSE_with_lock_list_not_callable
  return dlock::default_service().with_locks({"a", "b"}, [](const dlock::multi_lease&) { return 0; });
#else
  return dlock::default_service().with_locks({"a", "b"}, [](const dlock::lease&) { return 0; });
#endif
}

// fails: dlock: the function under the lock takes nothing, or the lease
int with_lock_not_callable() {
#ifndef MISUSE_with_lock_not_callable
  return dlock::default_service().with_lock("k", [](const dlock::lease&) { return 0; });
#else
  return dlock::default_service().with_lock("k", [](int value) { return value; });
#endif
}

// fails: dlock: options stand before the function
void with_lock_options_after() {
#ifndef MISUSE_with_lock_options_after
  dlock::default_service().with_lock("k", {.wait = 1s}, [] {});
#else
  dlock::default_service().with_lock("k", [] {}, {.wait = 1s});
#endif
}

// fails: dlock: the function returns a reference to the lease
void with_lock_returns_lease_reference() {
#ifndef MISUSE_with_lock_returns_lease_reference
  dlock::default_service().with_lock("k", [](dlock::lease& held) { return held.fencing_token(); });
#else
  dlock::default_service().with_lock("k", [](dlock::lease& held) -> dlock::lease& { return held; });
#endif
}

// fails: dlock: the function returns a future, whose task may run on after the lock is released
const auto with_lock_future = dlock::default_service().with_lock("k", [] {
  auto job = std::async([] { return 1; });
#ifndef MISUSE_with_lock_future
  return job.get();
#else
  return job;
#endif
});

// fails: dlock: the function returns a future, whose task may run on after the lock is released
const auto with_locks_shared_future = dlock::default_service().try_with_locks({"a", "b"}, [] {
  auto job = std::async([] { return 1; }).share();
#ifndef MISUSE_with_locks_shared_future
  return job.get();
#else
  return job;
#endif
});

// fails: dlock: the function returns a future, whose task may run on after the lock is released
void locked_future() {
  const auto begin = [](int id) { return std::async([id] { return id; }); };
#ifndef MISUSE_locked_future
  dlock::default_service().locked_or_skip<"n:{id}">([&](int id) { return begin(id).get(); })(7);
#else
  dlock::default_service().locked_or_skip<"n:{id}">(begin)(7);
#endif
}

// fails: dlock: the function returns a future, whose task may run on after the lock is released
// As those of Boost, folly and HPX look. A type that only looks like one says so.
struct foreign_future {
  void wait();
  int get();
};
#ifndef MISUSE_with_lock_foreign_future
template <>
inline constexpr bool dlock::runs_later<foreign_future> = false;
#endif
const auto with_lock_foreign_future = dlock::default_service().with_lock("k", [] { return foreign_future(); });

// fails: dlock: the function returns a future, whose task may run on after the lock is released
struct job_handle {
  void on_end(void (*)());
};
#ifdef MISUSE_with_lock_named_future
template <>
inline constexpr bool dlock::runs_later<job_handle> = true;
#endif
const auto with_lock_named_future = dlock::default_service().with_lock("k", [] { return job_handle(); });

// fails: dlock: the write returns a coroutine or a future, which may write when a newer holder has written
void fenced_future() {
  dlock::fence_gate gate;
#ifndef MISUSE_fenced_future
  gate.require("report", 7, [] { return std::async([] {}).get(); });
#else
  gate.require("report", 7, [] { return std::async([] {}); });
#endif
}

// What has one of the two members is none.
const auto with_lock_pointer = dlock::default_service().with_lock("k", [] { return std::make_unique<int>(1); });

// fails: dlock: a time in lock_options has a unit and is whole milliseconds
void with_lock_time_without_unit() {
#ifndef MISUSE_with_lock_time_without_unit
  dlock::default_service().with_lock("k", {.wait = 5s}, [] {});
#else
  dlock::default_service().with_lock("k", {.wait = 5}, [] {});
#endif
}

// fails: dlock: what the function of once\(\) returns would be lost to those who come later
void once_returns_a_value() {
#ifndef MISUSE_once_returns_a_value
  dlock::default_service().once("migrate", [] { sell_one(); });
#else
  dlock::default_service().once("migrate", [] { return sell_one(); });
#endif
}

// fails: dlock: the function returns a future
void once_returns_a_future() {
#ifndef MISUSE_once_returns_a_future
  dlock::default_service().once("migrate", [](const dlock::lease&) { sell_one(); });
#else
  dlock::default_service().once("migrate", [](const dlock::lease&) -> std::future<void> { return {}; });
#endif
}

struct any_transaction {};

// fails: dlock: once\(\) takes an odb::transaction: include <dlock/odb/once.hpp>
void once_in_another_transaction() {
#ifdef MISUSE_once_in_another_transaction
  any_transaction open;
  dlock::default_service().once(open, "migrate", [] { sell_one(); });
#endif
}
