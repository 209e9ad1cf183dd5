// SPDX-License-Identifier: BSL-1.0

#include <pthread.h>
#include <coroutine>
#include <cstdlib>

#include "dlock/distributed_mutex.hpp"
#include "dlock/locked.hpp"
#include "dlock/macros.hpp"
#include "dlock/with_lock.hpp"
#include "service/engine_fixture.hpp"
#include "service/fake_transactions.hpp"

using namespace dlock::test;
using namespace dlock;

TEST_CASE_METHOD(one_service, "re-entry: only the outermost release frees the key", "[T41]") {
  auto outer = locks->acquire("k");
  {
    const auto second = locks->acquire("k", {.ttl = 10s});
    auto third = locks->try_acquire("k");
    CHECK(second.reentered());
    CHECK(third.reentered());
    third.release();
    CHECK_FALSE(is_free("k"));
  }
  CHECK_FALSE(is_free("k"));
  CHECK(store->count(verb::release) == 0);
  CHECK(seen->count(event::kind::reentered) == 2);
  outer.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "re-entry: the inner lease may outlive the outer", "[T41]") {
  auto outer = locks->acquire("k");
  auto inner = locks->acquire("k");
  outer.release();
  CHECK_FALSE(is_free("k"));
  CHECK_NOTHROW(inner.ensure_held());
  inner.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "re-entry: the fence stays", "[T43]") {
  const auto outer = locks->acquire("k");
  const auto inner = locks->acquire("k");
  CHECK(inner.fencing_token() == outer.fencing_token());
  CHECK(fence_of("k") == outer.fencing_token());
}

TEST_CASE_METHOD(one_service, "re-entry: a kept lease ignores the inner ttl", "[T42]") {
  const auto outer = locks->acquire("k", {.ttl = 60s});
  const auto inner = locks->acquire("k", {.ttl = 1s});
  CHECK(inner.remaining() == 57s);
  CHECK(store->opened().size() == 1);
}

TEST_CASE_METHOD(one_service, "re-entry: another way of renewal is refused, and says what the outer one has") {
  const auto refused = [&](renewal outer, renewal inner) {
    const auto held = locks->acquire("k", {.ttl = 10s, .renewal = outer});
    const auto sent = locks->statements();
    const auto text = refusal([&] { return locks->acquire("k", {.ttl = 20s, .renewal = inner}); });
    CHECK(locks->statements() == sent);
    CHECK_NOTHROW(held.ensure_held());
    return text;
  };
  const auto all = {renewal::automatic, renewal::none, renewal::manual};
  for (const auto outer : all) {
    for (const auto inner : all) {
      if (outer != inner) CHECK(refused(outer, inner).starts_with("dlock: key 'k': renewal = "));
    }
  }
  CHECK(refused(renewal::manual, renewal::none).find("renewal::manual") != std::string::npos);
  CHECK(is_free("k"));  // nothing of the refused ones is left
  const auto held = locks->acquire("k");
  CHECK(thrown([&] { return locks->try_acquire("k", {.renewal = renewal::none, .reentry = reentry::refuse}); }) ==
        errc::already_held);
}

TEST_CASE_METHOD(one_service, "re-entry: a max_hold that would end the outer lease is refused, a later one holds") {
  {
    const auto free_of_it = locks->acquire("k");
    CHECK_THROWS_AS(locks->acquire("k", {.max_hold = 1h}), std::invalid_argument);
  }
  const auto outer = locks->acquire("k", {.max_hold = 10s});
  CHECK_THROWS_AS(locks->acquire("k", {.max_hold = 9s}), std::invalid_argument);
  CHECK(locks->acquire("k", {.max_hold = 10s}).reentered());
  CHECK(locks->acquire("k").reentered());
  clock.advance(5s);
  CHECK_THROWS_AS(locks->acquire("k", {.max_hold = 4s}), std::invalid_argument);
  CHECK(locks->acquire("k", {.max_hold = 5s}).reentered());
}

TEST_CASE_METHOD(one_service, "re-entry: an inner min_hold counts from there, and never shortens the outer one") {
  auto outer = locks->acquire("k", {.min_hold = 2s});
  clock.advance(1s);
  CHECK(locks->acquire("k", {.min_hold = 500ms}).reentered());  // the outer one's 2 s are longer
  CHECK(locks->acquire("k", {.min_hold = 4s}).reentered());
  outer.release();
  clock.advance(4s - 1ms);
  CHECK_FALSE(is_free("k"));
  clock.advance(1ms);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(engine_fixture,
                 "re-entry: what the service's defaults ask for holds for an inner lease without options", "[T42]") {
  SECTION("min_hold counts from the inner lease") {
    auto given = options();
    given.defaults.min_hold = 1s;
    const auto locks = service(given);
    auto outer = locks->acquire("k", {.min_hold = 0ms});
    clock.advance(700ms);
    auto inner = locks->acquire("k");
    CHECK(inner.reentered());
    inner.release();
    outer.release();
    CHECK(is_free_after("k", 1s));
  }
  SECTION("a lease that nothing renews is not entered by one that is to be renewed") {
    const auto locks = service();
    const auto outer = locks->acquire("k", {.renewal = renewal::none});
    CHECK_THROWS_AS(locks->acquire("k"), std::invalid_argument);
    CHECK_THROWS_AS(locks->try_acquire("k"), std::invalid_argument);
  }
  SECTION("reentry::refuse refuses") {
    auto given = options();
    given.defaults.reentry = reentry::refuse;
    const auto locks = service(given);
    const auto outer = locks->acquire("k");
    CHECK_THROWS_AS(locks->acquire("k"), lock_refused);
  }
}

TEST_CASE_METHOD(one_service, "re-entry: an expiry of its own is only ever extended", "[T42]") {
  const auto outer = locks->acquire("k", {.ttl = 10s, .renewal = renewal::none});
  clock.advance(4s);
  const auto before = locks->statements();
  const auto shorter = locks->acquire("k", {.ttl = 3s, .renewal = renewal::none});
  CHECK(locks->statements() == before);
  CHECK(outer.remaining() == 9500ms - 4s);
  const auto longer = locks->acquire("k", {.ttl = 20s, .renewal = renewal::none});
  CHECK(locks->statements() == before + 1);
  CHECK(outer.remaining() == 19s);
  CHECK(longer.remaining() == 19s);
  CHECK(longer.fencing_token() == outer.fencing_token());
  CHECK(locks->holder("k")->remaining == 20s);
}

TEST_CASE_METHOD(one_service, "re-entry: extends to the inner ttl, not to the outer's once more", "[T42]") {
  const auto outer = locks->acquire("k", {.ttl = 60s, .renewal = renewal::none});
  clock.advance(50s);
  const auto inner = locks->acquire("k", {.ttl = 20s, .renewal = renewal::none});
  CHECK(inner.remaining() == 19s);
}

TEST_CASE_METHOD(one_service, "re-entry: refused with the fence at hand when so asked", "[T10][T45]") {
  const auto outer = locks->acquire("k");
  const auto refused = caught<lock_refused>([&] { return locks->acquire("k", {.reentry = reentry::refuse}); });
  CHECK(refused.code() == errc::already_held);
  CHECK(std::string(refused.what()).find("fence 1") != std::string::npos);
  CHECK(thrown([&] { return locks->try_acquire("k", {.reentry = reentry::refuse}); }) == errc::already_held);
}

TEST_CASE_METHOD(one_service, "re-entry: answers busy when so asked", "[T10]") {
  auto outer = locks->acquire("k");
  CHECK_FALSE(granted(locks->try_acquire("k", {.reentry = reentry::busy})));
  CHECK(thrown([&] { return locks->acquire("k", {.wait = 0ms, .reentry = reentry::busy}); }) == errc::timed_out);
  CHECK(while_time_passes([&] {
          const owner_scope here(owner::current());
          return thrown([&] { return locks->acquire("k", {.wait = 50ms, .reentry = reentry::busy}); });
        }) == errc::timed_out);
  outer.release();
  CHECK(granted(locks->try_acquire("k", {.reentry = reentry::busy})));
}

TEST_CASE_METHOD(inside_fixture, "re-entry: a waiter that wants no re-entry waits for the release", "[T33]") {
  const owner shared;
  auto outer = [&] {
    const owner_scope here(shared);
    return home.acquire("k", {}, false);
  }();
  lease second;
  std::thread waiter([&] {
    const owner_scope here(shared);
    second = home.acquire("k", {.wait = 1h, .reentry = reentry::busy}, false);
  });
  REQUIRE(queued());
  outer.release();
  waiter.join();
  CHECK(second.fencing_token() == 2);
  CHECK_FALSE(second.reentered());
  second.release();
}

TEST_CASE_METHOD(one_service, "re-entry: after a loss it throws, until the lost lease is let go", "[T46]") {
  auto outer = locks->acquire("k");
  CHECK(locks->force_release("k"));
  clock.advance(11s);
  REQUIRE(is_lost(outer));
  CHECK(thrown([&] { return locks->acquire("k"); }) == errc::lost);
  CHECK(thrown([&] { return locks->try_acquire("k"); }) == errc::lost);
  CHECK(thrown([&] { outer.release(); }) == errc::lost);
  CHECK(is_free_after("k", 1500ms));
  const auto fresh = locks->acquire("k");
  CHECK_FALSE(fresh.reentered());
}

TEST_CASE_METHOD(one_service, "re-entry: of a lost grant and its successor the latter is found, however many keys come",
                 "[T46]") {
  const owner_scope here{owner{}};
  const auto lost = locks->acquire("k", {.ttl = 1s, .renewal = renewal::none});
  clock.advance(2s);
  const auto good = locks->acquire("k", {.ttl = 1h, .renewal = renewal::none, .reentry = reentry::busy});
  const lock_options inner{.ttl = 1s, .renewal = renewal::none};
  std::vector<lease> others;
  for (int size = 1; size <= 4096; size *= 2) {
    CHECK(locks->holds("k"));
    CHECK(locks->acquire("k", inner).fencing_token() == good.fencing_token());
    while (others.size() < static_cast<std::size_t>(size)) {
      others.push_back(locks->acquire("other" + std::to_string(others.size())));
    }
  }
}

TEST_CASE_METHOD(one_service, "re-entry: an inner release of a lost lease says so too", "[T06]") {
  auto outer = locks->acquire("k");
  auto inner = locks->acquire("k");
  CHECK(locks->force_release("k"));
  clock.advance(11s);
  REQUIRE(is_lost(outer));
  CHECK(thrown([&] { inner.release(); }) == errc::lost);
  CHECK(thrown([&] { outer.release(); }) == errc::lost);
}

TEST_CASE_METHOD(one_service, "owner: a task's lease is not another task's on the same thread", "[T40]") {
  std::optional<lease> leaked;
  {
    const owner_scope task_a;
    leaked = locks->acquire("k");
    CHECK(locks->acquire("k").reentered());
  }
  {
    const owner_scope task_b;
    CHECK_FALSE(granted(locks->try_acquire("k")));
  }
  CHECK_FALSE(granted(locks->try_acquire("k")));  // nor the thread's own
}

TEST_CASE_METHOD(one_service, "owner: a task that moves between threads takes its locks along", "[T09][T40]") {
  const owner task;
  lease held;
  std::thread([&] {
    const owner_scope here(task);
    held = locks->acquire("k");
  }).join();
  std::thread([&] {
    const owner_scope here(task);
    const auto again = locks->acquire("k");
    held = lease{};
  }).join();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "owner: two threads of one owner share the grant, the last one frees it", "[T41][T44]") {
  const owner task;
  for (int round = 0; round < 300; ++round) {
    const auto body = [&] {
      const owner_scope here(task);
      const auto held = locks->acquire("k", {.wait = 1h});
      held.ensure_held();
    };
    std::thread first(body), second(body);
    first.join();
    second.join();
    REQUIRE(fence_of("k") == 0);
  }
  CHECK(seen->count(event::kind::granted) == seen->count(event::kind::released));
}

TEST_CASE_METHOD(engine_fixture, "owner: scopes nest and the thread's own comes back") {
  const auto own = owner::current();
  const owner a, b;
  CHECK(a != b);
  {
    const owner_scope first(a);
    CHECK(owner::current() == a);
    {
      const owner_scope second(b);
      CHECK(owner::current() == b);
    }
    CHECK(owner::current() == a);
  }
  CHECK(owner::current() == own);
  CHECK(elsewhere([] { return owner::current(); }) != own);
}

TEST_CASE_METHOD(engine_fixture, "owner: services do not share what an owner holds") {
  const auto first = service();
  const auto second = service();
  const auto held = first->acquire("k");
  CHECK_FALSE(granted(second->try_acquire("k")));
}

TEST_CASE("re-entry: a request is one owner, however often it is made and forgotten") {
  const owner first{"request-1"};
  CHECK(first == owner{"request-1"});
  CHECK_FALSE(first == owner{"request-2"});
  for (int i = 0; i < 1000; ++i) static_cast<void>(owner{"passing-" + std::to_string(i)});
  CHECK(first == owner{"request-1"});
  CHECK_FALSE(owner{} == owner{});
  CHECK(owner{std::string(64, 'x')} == owner{std::string(64, 'x')});
}

TEST_CASE("re-entry: a request id that no column could hold as it is, is refused with its text") {
  for (const std::string bad : {"", " ", "a b", "a/b", "caf\xc3\xa9", "tab\there"}) {
    CAPTURE(bad);
    CHECK_THROWS_MATCHES(owner{bad}, std::invalid_argument,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("1 to 64 printable")));
  }
  CHECK_THROWS_AS(owner{std::string(65, 'x')}, std::invalid_argument);
  CHECK_THROWS_AS(owner{std::string_view("a\0b", 3)}, std::invalid_argument);
}

// Whom a thread's own owner lets in again: nested calls, and nobody else who runs on the same thread.

namespace {

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

TEST_CASE_METHOD(stack_fixture, "re-entry: what a nested call asks for is entered, whatever holds the lease", "[T41]") {
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
    CHECK(granted(locks->try_acquire_all({"k", "l", "m"})));
    CHECK(locks->with_locks({"a", "b"}, [&] { return nested_enters("a") && nested_enters("b"); }));
  }
}

TEST_CASE_METHOD(stack_fixture, "re-entry: on a thread with a small stack of its own it is the same") {
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

TEST_CASE_METHOD(stack_fixture, "re-entry: a lease that is an object of the thread lets nobody in, on any thread") {
  const auto enters = [&] {
    held_by_thread = locks->acquire("k");
    const bool entered = nested_enters() || locks->holds("k");
    held_by_thread.reset();
    return entered;
  };
  CHECK_FALSE(enters());
  CHECK_FALSE(elsewhere(enters));
}

TEST_CASE_METHOD(inside_fixture, "re-entry: a lease that was moved to another thread keeps its first thread out") {
  auto held = home.acquire("k", {}, false);
  const auto first = held.fencing_token();
  std::promise<void> leave;
  std::thread worker([may = leave.get_future(), mine = std::move(held)]() mutable {
    may.wait();
    mine.release();
  });
  CHECK_FALSE(granted(home.acquire("k", {}, true)));
  std::thread watching([&] {
    static_cast<void>(queued());
    leave.set_value();
  });
  auto next = home.acquire("k", {.wait = 1h}, false);  // waits for the worker as any thread does
  CHECK(next.fencing_token() == first + 1);
  CHECK_FALSE(next.reentered());
  worker.join();
  watching.join();
  next.release();
}

TEST_CASE_METHOD(stack_fixture, "re-entry: coroutines on one thread exclude each other") {
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

TEST_CASE_METHOD(stack_fixture, "re-entry: coroutines with an owner each exclude each other and enter again") {
  room room;
  {
    std::vector<task> all;
    for (int i = 0; i < 2; ++i) all.push_back(visit_as(room, owner{}));
    CHECK(room.refused == 1);
    all[0].handle.resume();
  }
  CHECK(room.most == 1);
}

TEST_CASE_METHOD(stack_fixture, "re-entry: a lease on the heap lets nobody in, and does so again on the stack") {
  auto held = std::make_unique<lease>(locks->acquire("k"));
  CHECK_FALSE(nested_enters());
  auto several = std::make_unique<multi_lease>(locks->acquire_all({"l", "m"}));
  CHECK_FALSE(nested_enters("l"));
  std::vector<lease> many;
  many.push_back(locks->acquire("n"));
  CHECK_FALSE(nested_enters("n"));
  CHECK_FALSE(granted(locks->try_acquire_all({"k", "o"})));
  const auto here = std::move(*held);
  const auto both = std::move(*several);
  CHECK(nested_enters());
  CHECK(nested_enters("l"));
  CHECK(nested_enters("m"));
}

TEST_CASE_METHOD(stack_fixture, "re-entry: a timeout says that the thread waits for itself, and what to do") {
  const auto held = std::make_unique<lease>(locks->acquire("k"));
  CHECK(why_not().find("not on its stack") != std::string::npos);
  CHECK(why_not().find("owner_scope") != std::string::npos);
  CHECK(why_not().find("another owner in this process") == std::string::npos);
  CHECK(elsewhere([&] { return why_not(); }).find("another owner in this process") != std::string::npos);
  const auto text = message_of([&] { return locks->acquire_all({"a", "k"}, {.wait = 0ms}); });
  CHECK(text.find("owner_scope") != std::string::npos);
}

TEST_CASE_METHOD(stack_fixture, "re-entry: refuse says so wherever the lease is", "[T45]") {
  const auto held = std::make_unique<lease>(locks->acquire("k"));
  CHECK(thrown([&] { return locks->try_acquire("k", {.reentry = reentry::refuse}); }) == errc::already_held);
}

TEST_CASE_METHOD(stack_fixture, "re-entry: an owner that the program names enters wherever the lease is") {
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

TEST_CASE_METHOD(stack_fixture, "re-entry: the thread's own owner counts as named in a scope") {
  const auto held = std::make_unique<lease>(locks->acquire("k"));
  CHECK_FALSE(nested_enters());
  const owner_scope as_myself(owner::current());
  CHECK(nested_enters());
}

TEST_CASE_METHOD(stack_fixture, "re-entry: when the first lease has ended, the inner one lets nobody in") {
  auto outer = locks->acquire("k");
  const auto inner = locks->acquire("k");
  outer.release();
  CHECK_FALSE(nested_enters());
  CHECK_FALSE(is_free("k"));
}

TEST_CASE_METHOD(inside_fixture, "re-entry: a waiting thread is not let in by what another gets in its name", "[T33]") {
  auto outer = elsewhere([&] { return home.acquire("k", {}, false); });
  const auto me = owner::current();
  lease theirs;
  std::thread other([&] {
    const owner_scope as_me(me);
    static_cast<void>(queued());
    std::thread last([&] {
      static_cast<void>(queued(2));
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
}

TEST_CASE_METHOD(stack_fixture,
                 "re-entry: what an open transaction keeps is entered again, and only by one at a time") {
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

TEST_CASE_METHOD(stack_fixture, "re-entry: what another thread's transaction keeps is busy for the first thread") {
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

TEST_CASE_METHOD(stack_fixture, "mutex: its key is not entered by its own thread, which is told at once") {
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

TEST_CASE_METHOD(stack_fixture, "mutex: its key is entered by an owner that the program names") {
  const owner_scope me;
  distributed_mutex door{*locks, "k"};
  const std::lock_guard guard(door);
  CHECK(nested_enters());
}
