// SPDX-License-Identifier: BSL-1.0
// Whom a thread's own owner lets in again: nested calls, and nobody else who runs on the same thread.
#include <pthread.h>

#include <catch2/catch_test_macros.hpp>
#include <coroutine>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlock/distributed_mutex.hpp"
#include "dlock/locked.hpp"
#include "dlock/macros.hpp"
#include "dlock/with_lock.hpp"
#include "service/engine_fixture.hpp"
#include "service/fake_transactions.hpp"
#include "support/granted.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

struct stack_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = service();
  stack_fixture() { set_default_service(*locks); }
  /// Releases that a transaction's end has queued need the clock.
  ~stack_fixture() {
    static_cast<void>(eventually([this] { return locks->close(0ms).empty(); }));
  }

  /// What a function that is called here gets: entered, "busy", or the error's code.
  [[gnu::noinline]] bool nested_enters(const lock_key& key = "k") {
    const auto again = locks->try_acquire(key);
    return again && again.reentered();
  }
  std::string why_not(const lock_key& key = "k") {
    return caught<lock_timeout>([&] { return locks->acquire(key, {.wait = 0ms}); }).what();
  }
};

/// A coroutine that runs until its first suspension when it is called, and from there when it is resumed.
struct task {
  struct promise_type {
    task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  explicit task(std::coroutine_handle<promise_type> coroutine) : handle(coroutine) {}
  task(task&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  task& operator=(task&&) = delete;
  ~task() {
    if (handle) handle.destroy();
  }
  std::coroutine_handle<promise_type> handle;
};

struct room {
  int inside = 0;
  int most = 0;
  int refused = 0;
  void enter() { most = std::max(most, ++inside); }
  void leave() { --inside; }
};

// Not inlined, so that no compiler puts the frame of the coroutine into that of its caller.
[[gnu::noinline]] task visit(room& room) {
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") {
    room.enter();
    co_await std::suspend_always{};
    held.ensure_held();
    room.leave();
  }
  else {
    ++room.refused;
  }
}

[[gnu::noinline]] task visit_as(room& room, owner who) {
  auto held = [&] {
    const owner_scope here(who);
    return default_service().try_acquire("k");
  }();
  if (!held) {
    ++room.refused;
    co_return;
  }
  room.enter();
  co_await std::suspend_always{};
  {
    const owner_scope here(who);
    CHECK(default_service().try_acquire("k").reentered());
  }
  room.leave();
}

/// Runs on a thread whose stack is this program's own memory of that size.
template <class F>
void on_small_stack(std::size_t bytes, F body) {
  struct memory {
    void* at;
    ~memory() { std::free(at); }
  } const stack{std::aligned_alloc(4096, bytes)};
  pthread_attr_t attributes;
  REQUIRE(::pthread_attr_init(&attributes) == 0);
  REQUIRE(::pthread_attr_setstack(&attributes, stack.at, bytes) == 0);
  pthread_t thread{};
  const auto run = [](void* arg) -> void* {
    (*static_cast<F*>(arg))();
    return nullptr;
  };
  REQUIRE(::pthread_create(&thread, &attributes, run, &body) == 0);
  REQUIRE(::pthread_join(thread, nullptr) == 0);
  ::pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE_METHOD(stack_fixture, "re-entry: what a nested call asks for is entered, whatever holds the lease",
                 "[reentry][T41]") {
  SECTION("a local lease") {
    const auto held = locks->acquire("k");
    CHECK(nested_enters());
  }
  SECTION("one that was moved between local objects") {
    auto first = locks->acquire("k");
    auto second = std::move(first);
    first = std::move(second);
    CHECK(nested_enters());
    const auto [third, number] = std::pair(std::move(first), 3);
    CHECK(nested_enters());
    CHECK(number == 3);
  }
  SECTION("an optional one") {
    std::optional<lease> held;
    held = locks->acquire("k");
    CHECK(nested_enters());
    held.reset();
    CHECK_FALSE(nested_enters());
  }
  SECTION("a lambda that is here") {
    const auto work = [mine = locks->acquire("k"), this] { return nested_enters(); };
    CHECK(work());
  }
  SECTION("with_lock and the macros") {
    CHECK(locks->with_lock("k", [&] { return nested_enters(); }));
    CHECK(locks->try_with_lock("k", [&] { return locks->with_lock("k", [&] { return nested_enters(); }); }) == true);
    DISTRIBUTED_LOCKED("k") { CHECK(nested_enters()); }
    DISTRIBUTED_TRY_LOCKED_AS(held, "k") { CHECK(nested_enters()); }
  }
  SECTION("a decorator") {
    const auto decorated = locks->locked<"k{i}">([&](int) { return nested_enters("k1"); });
    CHECK(decorated(1));
  }
  SECTION("several keys") {
    auto both = locks->acquire_all({"k", "l"});
    CHECK(nested_enters());
    CHECK(nested_enters("l"));
    auto moved = std::move(both);
    CHECK(nested_enters());
    both = std::move(moved);
    CHECK(nested_enters("l"));
    CHECK(locks->try_acquire_all({"k", "l", "m"}));
    CHECK(locks->with_locks({"a", "b"}, [&] { return nested_enters("a") && nested_enters("b"); }));
  }
}

TEST_CASE_METHOD(stack_fixture, "re-entry: on a thread with a small stack of its own it is the same", "[reentry]") {
#if defined(__SANITIZE_THREAD__)  // whose own data of a thread lie there as well
  constexpr std::size_t more = 2U << 20U;
#else
  constexpr std::size_t more = 0;
#endif
  for (const std::size_t bytes : {(std::size_t{256} << 10U) + more, (std::size_t{1} << 20U) + more}) {
    bool entered = false;
    bool after = true;
    on_small_stack(bytes, [&] {
      auto held = locks->acquire("k");
      entered = nested_enters();
      const auto elsewhere = std::make_unique<lease>(std::move(held));
      after = nested_enters();
    });
    CHECK(entered);
    CHECK_FALSE(after);
  }
}

namespace {
thread_local std::optional<lease> held_by_thread{};
}

TEST_CASE_METHOD(stack_fixture, "re-entry: a lease that is an object of the thread lets nobody in, on any thread",
                 "[reentry]") {
  const auto enters = [&] {
    held_by_thread = locks->acquire("k");
    const bool entered = nested_enters() || locks->holds("k");
    held_by_thread.reset();
    return entered;
  };
  CHECK_FALSE(enters());
  CHECK_FALSE(elsewhere(enters));
}

TEST_CASE_METHOD(engine_fixture, "re-entry: a lease that was moved to another thread keeps its first thread out",
                 "[reentry]") {
  const auto home = core();
  auto held = home.acquire("k", {}, false);
  const auto first = held.fencing_token();
  std::promise<void> leave;
  std::thread worker([may = leave.get_future(), mine = std::move(held)]() mutable {
    may.wait();
    mine.release();
  });
  CHECK_FALSE(home.acquire("k", {}, true));
  std::thread watching([&] {
    static_cast<void>(eventually([&] { return home.waiting() == 1; }));
    leave.set_value();
  });
  auto next = home.acquire("k", {.wait = 1h}, false);  // waits for the worker as any thread does
  CHECK(next.fencing_token() == first + 1);
  CHECK_FALSE(next.reentered());
  worker.join();
  watching.join();
  next.release();
  home.close(0ms);
  home.finish();
}

TEST_CASE_METHOD(stack_fixture, "re-entry: coroutines on one thread exclude each other", "[reentry]") {
  room room;
  {
    std::vector<task> all;
    for (int i = 0; i < 3; ++i) all.push_back(visit(room));
    CHECK(room.refused == 2);
    all[0].handle.resume();  // leaves
    all.push_back(visit(room));
    CHECK(room.refused == 2);
    all[3].handle.resume();
  }
  CHECK(room.most == 1);
  CHECK(room.inside == 0);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(stack_fixture, "re-entry: coroutines with an owner each exclude each other and enter again",
                 "[reentry][owner]") {
  room room;
  {
    std::vector<task> all;
    for (int i = 0; i < 2; ++i) all.push_back(visit_as(room, owner{}));
    CHECK(room.refused == 1);
    all[0].handle.resume();
  }
  CHECK(room.most == 1);
}

TEST_CASE_METHOD(stack_fixture, "re-entry: a lease on the heap lets nobody in, and does so again on the stack",
                 "[reentry]") {
  auto held = std::make_unique<lease>(locks->acquire("k"));
  CHECK_FALSE(nested_enters());
  auto several = std::make_unique<multi_lease>(locks->acquire_all({"l", "m"}));
  CHECK_FALSE(nested_enters("l"));
  std::vector<lease> many;
  many.push_back(locks->acquire("n"));
  CHECK_FALSE(nested_enters("n"));
  CHECK_FALSE(locks->try_acquire_all({"k", "o"}));
  const auto here = std::move(*held);
  const auto both = std::move(*several);
  CHECK(nested_enters());
  CHECK(nested_enters("l"));
  CHECK(nested_enters("m"));
}

TEST_CASE_METHOD(stack_fixture, "re-entry: a timeout says that the thread waits for itself, and what to do",
                 "[reentry]") {
  const auto held = std::make_unique<lease>(locks->acquire("k"));
  CHECK(why_not().find("not on its stack") != std::string::npos);
  CHECK(why_not().find("owner_scope") != std::string::npos);
  CHECK(why_not().find("another owner in this process") == std::string::npos);
  CHECK(elsewhere([&] { return why_not(); }).find("another owner in this process") != std::string::npos);
  const auto text = message_of([&] { return locks->acquire_all({"a", "k"}, {.wait = 0ms}); });
  CHECK(text.find("owner_scope") != std::string::npos);
}

TEST_CASE_METHOD(stack_fixture, "re-entry: refuse says so wherever the lease is", "[reentry][T45]") {
  const auto held = std::make_unique<lease>(locks->acquire("k"));
  CHECK(thrown([&] { return locks->try_acquire("k", {.reentry = reentry::refuse}); }) == errc::already_held);
}

TEST_CASE_METHOD(stack_fixture, "re-entry: an owner that the program names enters wherever the lease is",
                 "[reentry][owner]") {
  const owner me;
  std::unique_ptr<lease> held;
  {
    const owner_scope here(me);
    held = std::make_unique<lease>(locks->acquire("k"));
    CHECK(nested_enters());
  }
  CHECK_FALSE(nested_enters());
  CHECK(elsewhere([&] {
    const owner_scope here(me);
    return nested_enters();
  }));
}

TEST_CASE_METHOD(stack_fixture, "re-entry: the thread's own owner counts as named in a scope", "[reentry][owner]") {
  const auto held = std::make_unique<lease>(locks->acquire("k"));
  CHECK_FALSE(nested_enters());
  const owner_scope as_myself(owner::current());
  CHECK(nested_enters());
}

TEST_CASE_METHOD(stack_fixture, "re-entry: when the first lease has ended, the inner one lets nobody in", "[reentry]") {
  auto outer = locks->acquire("k");
  const auto inner = locks->acquire("k");
  outer.release();
  CHECK_FALSE(nested_enters());
  CHECK_FALSE(is_free("k"));
}

TEST_CASE_METHOD(engine_fixture, "re-entry: a waiting thread is not let in by what another gets in its name",
                 "[reentry][T33]") {
  const auto home = core();
  auto outer = elsewhere([&] { return home.acquire("k", {}, false); });
  const auto me = owner::current();
  lease theirs;
  std::thread other([&] {
    const owner_scope as_me(me);
    static_cast<void>(eventually([&] { return home.waiting() == 1; }));
    std::thread last([&] {
      static_cast<void>(eventually([&] { return home.waiting() == 2; }));
      outer.release();  // the first in the queue gets it
    });
    theirs = home.acquire("k", {.wait = 1h}, false);
    last.join();
  });
  auto mine = home.acquire("k", {.wait = 1h}, false);
  CHECK_FALSE(mine.reentered());
  mine.release();
  other.join();
  CHECK(theirs);
  theirs.release();
  home.close(0ms);
  home.finish();
}

TEST_CASE_METHOD(stack_fixture, "re-entry: what an open transaction keeps is entered again, and only by one at a time",
                 "[reentry][transaction]") {
  fake_transaction open(*store);
  { const auto held = locks->acquire("k"); }
  CHECK_FALSE(is_free("k"));
  CHECK(nested_enters());
  auto held = locks->try_acquire("k");
  REQUIRE(held.reentered());
  CHECK(nested_enters());
  const auto away = std::make_unique<lease>(std::move(held));
  CHECK_FALSE(nested_enters());
}

TEST_CASE_METHOD(stack_fixture, "re-entry: what another thread's transaction keeps is busy for the first thread",
                 "[reentry][transaction]") {
  auto held = locks->acquire("k");
  std::promise<void> ended, done;
  std::thread worker([&, mine = std::move(held), may_end = done.get_future()]() mutable {
    fake_transaction open(*store);
    mine = lease{};
    ended.set_value();
    may_end.wait();
  });
  ended.get_future().wait();
  CHECK_FALSE(is_free("k"));
  CHECK_FALSE(nested_enters());
  done.set_value();
  worker.join();
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(stack_fixture, "mutex: its key is not entered by its own thread, which is told at once", "[mutex]") {
  distributed_mutex door{*locks, "k", {.wait = 1h}};
  const std::lock_guard guard(door);
  CHECK(thrown([&] { return locks->acquire("k", {.wait = 1h}); }) == errc::already_held);
  CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::already_held);
  CHECK(thrown([&] { return locks->acquire_all({"j", "k"}, {.wait = 1h}); }) == errc::already_held);
  CHECK(is_free("j"));
  CHECK(thrown([&] { return locks->with_lock("k", {.wait = 1h}, [] { return 1; }); }) == errc::already_held);
  CHECK(thrown([&] { door.lock(); }) == errc::already_held);
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire("k")); }));
}

TEST_CASE_METHOD(stack_fixture, "mutex: its key is entered by an owner that the program names", "[mutex][owner]") {
  const owner_scope me;
  distributed_mutex door{*locks, "k"};
  const std::lock_guard guard(door);
  CHECK(nested_enters());
}
