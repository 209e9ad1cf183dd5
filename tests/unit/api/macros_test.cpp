// SPDX-License-Identifier: BSL-1.0

#include "dlock/macros.hpp"
#include "dlock/dlock.hpp"

using namespace dlock;

#ifdef __cpp_impl_coroutine
#include <coroutine>
#endif

#include "support/test.hpp"
#include "unit/api/macro_forms.hpp"
#include "unit/api/memory_fixture.hpp"

namespace {

using dlock::lease;
using dlock::test::memory_fixture;
using namespace dlock::test;  // the forms

}  // namespace

TEST_CASE_METHOD(memory_fixture, "macros: the statement runs under the lock, which is free afterwards") {
  bool free_inside = true;
  DISTRIBUTED_LOCKED("k") { free_inside = is_free("k"); }
  CHECK_FALSE(free_inside);
  CHECK(is_free("k"));
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") {
    free_inside = is_free("k");
    CHECK(held.key() == "k");
  }
  CHECK_FALSE(free_inside);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "macros: return leaves the function with its value, and releases", "[T87]") {
  int target = 5;
  CHECK(returned_value(7) == 7);
  CHECK(is_free("k"));
  CHECK(*returned_move_only(8) == 8);
  CHECK(&returned_reference(target) == &target);
  const std::uint64_t fence = returned_fence();
  CHECK(returned_fence() == fence + 1);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "macros: break and continue leave the loop or switch around, and release") {
  // 0: body and rest; 1: continue skips both; 2: body and rest; 3: break ends the loop
  CHECK(left_by_break_and_continue(10) == std::vector{0, 0, 2, -2});
  CHECK(left_by_break_of_switch(1) == 10);
  CHECK(left_by_break_of_switch(2) == 20);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "macros: an exception leaves the statement, and releases") {
  const auto thrower = [] {
    DISTRIBUTED_LOCKED("k") { throw std::out_of_range("mine"); }
  };
  CHECK_THROWS_AS(thrower(), std::out_of_range);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "macros: an else after the statement belongs to the if around it") {
  CHECK(outer_else(true) == 11);
  CHECK(outer_else(false) == 22);
}

TEST_CASE_METHOD(memory_fixture, "macros: statements nest, and the same key is re-entered") {
  bool inner_again = false;
  CHECK(nested(inner_again));
  CHECK(inner_again);
  CHECK(is_free("k"));
  CHECK(is_free("l"));
}

TEST_CASE_METHOD(memory_fixture, "macros: two statements on one line only hide the outer name") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
  bool both = false;
  // clang-format off
  DISTRIBUTED_LOCKED("k") { DISTRIBUTED_LOCKED("l") { both = !is_free("k") && !is_free("l"); } }
  // clang-format on
#pragma GCC diagnostic pop
  CHECK(both);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "macros: keys and options may have commas") {
  CHECK(commas({42, "ann"}, "bob") == "42:bob k bob:42 ann:bob");
  CHECK(from_variables("k", {.ttl = 5s}) == 1);
}

TEST_CASE_METHOD(memory_fixture, "macros: they work in templates, lambdas and namespaces called dlock") {
  CHECK(in_template(42) == 42);
  CHECK(in_template(43L) == 43L);
  CHECK(in_lambda() == "k7");
  CHECK(shop::dlock::in_namespace_of_that_name() == 1);
}

TEST_CASE_METHOD(memory_fixture, "macros: a body is any statement", "[macros]") { CHECK(bodies() == 36); }
TEST_CASE_METHOD(memory_fixture, "macros: key and options are evaluated once, before the body", "[T84]") {
  std::string order;
  std::string name = "k";
  const auto key = [&] {
    order += 'k';
    return dlock::lock_key(name);
  };
  const auto options = [&] {
    order += 'o';
    return dlock::lock_options{.ttl = 5s};
  };
  DISTRIBUTED_LOCKED_AS(held, key(), options()) {
    order += 'b';
    name = "changed";
    CHECK(held.key() == "k");
    CHECK_FALSE(is_free("k"));
    CHECK(is_free("changed"));
  }
  CHECK((order == "kob" || order == "okb"));
  CHECK(is_free("k"));

  order.clear();
  DISTRIBUTED_TRY_LOCKED_AS(held, key(), options()) { order += 'b'; }
  CHECK((order == "kob" || order == "okb"));
}

TEST_CASE_METHOD(memory_fixture, "macros: nothing runs without the lock", "[T03]") {
  int runs = 0;
  const auto attempt = [&] {
    DISTRIBUTED_LOCKED("k") { ++runs; }
  };
  const auto bad_options = [&] {
    DISTRIBUTED_LOCKED("k", {.ttl = 0s}) { ++runs; }
  };
  const auto bad_key = [&] {
    DISTRIBUTED_LOCKED("") { ++runs; }
  };
  CHECK_THROWS_AS(bad_options(), std::invalid_argument);
  CHECK_THROWS_AS(bad_key(), std::invalid_argument);
  const lease theirs = rival.acquire("k");
  CHECK_THROWS_AS(attempt(), dlock::lock_timeout);
  CHECK(runs == 0);
}

TEST_CASE_METHOD(memory_fixture, "macros: TRY runs the else branch when the key is busy, and tries only once") {
  CHECK(tried() == 1);
  CHECK(tried() == 2);
  CHECK(tried_without_else());
  const lease theirs = rival.acquire("k");
  CHECK(tried() == -1);
  CHECK_FALSE(tried_without_else());
}

TEST_CASE_METHOD(memory_fixture, "macros: TRY without a name runs its body only under the lock", "[T03]") {
  bool free_inside = true;
  bool busy = false;
  DISTRIBUTED_TRY_LOCKED("k") { free_inside = is_free("k"); }
  CHECK_FALSE(free_inside);
  CHECK(is_free("k"));
  CHECK(tried_unnamed({42, "ann"}) == 1);
  CHECK(tried_unnamed_without_else());
  CHECK(tried_in_loop(10) == std::vector{0, 0, 2, -2});
  CHECK(is_free("42:ann"));
  CHECK(is_free("l"));

  const lease theirs = rival.acquire("k");
  const lease others = rival.acquire("42:ann");
  DISTRIBUTED_TRY_LOCKED("k") { free_inside = true; }
  else {
    busy = true;
  }
  CHECK_FALSE(free_inside);
  CHECK(busy);
  CHECK(tried_unnamed({42, "ann"}) == -1);
  CHECK_FALSE(tried_unnamed_without_else());
  CHECK(tried_in_loop(2) == std::vector{100, 0, 101, -1});
  CHECK(is_free("l"));
}

TEST_CASE_METHOD(memory_fixture, "macros: TRY without a name evaluates key and options once, and lets exceptions out") {
  std::string order;
  const auto key = [&] {
    order += 'k';
    return dlock::lock_key("k");
  };
  const auto options = [&] {
    order += 'o';
    return dlock::lock_options{.ttl = 5s};
  };
  const auto thrower = [&] {
    DISTRIBUTED_TRY_LOCKED(key(), options()) { throw std::out_of_range("mine"); }
  };
  CHECK_THROWS_AS(thrower(), std::out_of_range);
  CHECK((order == "ko" || order == "ok"));
  CHECK(is_free("k"));
  const auto bad_options = [&] {
    DISTRIBUTED_TRY_LOCKED("k", {.ttl = 0s}) { order += 'b'; }
  };
  CHECK_THROWS_AS(bad_options(), std::invalid_argument);
  CHECK(order.size() == 2);
}

TEST_CASE_METHOD(memory_fixture, "macros: options are used, and without them the service's defaults", "[T10]") {
  DISTRIBUTED_LOCKED_AS(held, "k", {.ttl = 5s}) { CHECK(held.remaining() <= 5s); }
  DISTRIBUTED_LOCKED_AS(held, "k") { CHECK(held.remaining() > 5s); }
  DISTRIBUTED_TRY_LOCKED_AS(held, "k", {.ttl = 5s}) { CHECK(held.remaining() <= 5s); }
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") { CHECK(held.remaining() > 5s); }
}

TEST_CASE_METHOD(memory_fixture, "macros: the named lease tells of a loss, the closing brace cannot") {
  const auto careless = [&] {
    DISTRIBUTED_LOCKED("k") { outlive_leases(); }
  };
  const auto careful = [&] {
    DISTRIBUTED_LOCKED_AS(held, "k") {
      outlive_leases();
      held.ensure_held();
    }
  };
  CHECK_NOTHROW(careless());
  CHECK_THROWS_AS(careful(), dlock::lock_lost);
}

TEST_CASE_METHOD(memory_fixture, "macros: the lease is const, so that nobody releases it in mid-body") {
  DISTRIBUTED_LOCKED_AS(held, "k") { STATIC_CHECK(std::is_same_v<decltype(held), const lease>); }
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") { STATIC_CHECK(std::is_same_v<decltype(held), const lease>); }
}

TEST_CASE_METHOD(memory_fixture, "macros: a service may stand before the key, and is used instead of the default one") {
  int runs = 0;
  DISTRIBUTED_LOCKED_AS(held, rival, "k", {.ttl = std::chrono::seconds{30}}) {
    ++runs;
    CHECK(rival.holds("k"));
    CHECK_FALSE(locks.holds("k"));
    DISTRIBUTED_TRY_LOCKED("k") { FAIL("two holders"); }
    DISTRIBUTED_TRY_LOCKED(locks, "k") { FAIL("two holders"); }
  }
  DISTRIBUTED_LOCKED(rival, {"a", "b"}) { runs += rival.holds("a") && rival.holds("b"); }
  DISTRIBUTED_TRY_LOCKED(rival, {"a"}) { runs += rival.holds("a"); }
  CHECK(runs == 3);
}

TEST_CASE("macros: without a default service they throw and say so") {
  int runs = 0;
  const auto attempt = [&] {
    DISTRIBUTED_LOCKED("k") { ++runs; }
  };
  const auto attempt_once = [&] {
    DISTRIBUTED_TRY_LOCKED_AS(held, "k") { ++runs; }
  };
  CHECK_THROWS_AS(attempt(), std::logic_error);
  CHECK_THROWS_AS(attempt_once(), std::logic_error);
  CHECK_THROWS_AS(tried_unnamed_without_else(), std::logic_error);
  CHECK(runs == 0);
}

#ifdef __cpp_impl_coroutine

namespace {

// The smallest coroutine that stops where it is told and goes on when asked.
struct task {
  struct promise_type {
    task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

task locked_over_suspension() {
  DISTRIBUTED_LOCKED("k") { co_await std::suspend_always(); }
}

}  // namespace

TEST_CASE_METHOD(memory_fixture,
                 "macros: in a coroutine the lock is held until the statement ends, not until it suspends", "[T88]") {
  const task running = locked_over_suspension();
  CHECK_FALSE(running.handle.done());
  CHECK_FALSE(is_free("k"));
  running.handle.resume();
  CHECK(running.handle.done());
  CHECK(is_free("k"));
  running.handle.destroy();
}

#endif

// What gives a view or a reference refuses to do so for an object that is gone at the end of the expression.

namespace {

template <class Object, class Use>
concept allows = std::invocable<Use, Object>;

/// Whether `use` compiles for a named object and not for a temporary one.
template <class Object, class Use>
constexpr bool named_only(Use) {
  return allows<const Object&, Use> && allows<Object&, Use> && !allows<Object, Use> && !allows<const Object, Use>;
}

#define USE(expression) [](auto&& it) -> decltype((void)(expression)) {}
#define IT static_cast<decltype(it)&&>(it)

static_assert(named_only<lease>(USE(IT.key())));
static_assert(named_only<lease>(USE(IT.lost_token())));
static_assert(named_only<lease>(USE(IT.verification())));
static_assert(named_only<multi_lease>(USE(IT.begin())));
static_assert(named_only<multi_lease>(USE(IT.end())));
static_assert(named_only<multi_lease>(USE(IT.find("k"))));
static_assert(named_only<multi_lease>(USE(IT["k"])));
static_assert(named_only<multi_lease>(USE(IT.lost_token())));
static_assert(named_only<lock_key>(USE(IT.view())));
static_assert(named_only<lock_key>(USE(IT.row())));
static_assert(named_only<lock_keys>(USE(IT.begin())));
static_assert(named_only<lock_keys>(USE(IT.end())));
static_assert(named_only<lock_keys>(USE(IT[0])));
static_assert(named_only<distributed_mutex>(USE(IT.held())));
static_assert(named_only<distributed_mutex>(USE(IT.key())));
static_assert(named_only<distributed_mutex>(USE(IT.options())));
static_assert(named_only<lock_service>(USE(IT.name())));
static_assert(named_only<lock_service>(USE(IT.defaults())));

// Values are not affected: a sequence of numbers, a question.
static_assert(allows<lease, decltype(USE(IT.fencing_token()))>);
static_assert(allows<lease, decltype(USE(IT.remaining()))>);
static_assert(allows<lease, decltype(USE(IT.ensure_held()))>);
static_assert(allows<lock_key, decltype(USE(IT.str()))>);

}  // namespace

TEST_CASE("temporaries: a loop over the leases of one keeps it until its end") {
  lock_service locks{"memory:"};
  int seen = 0;
  for (const auto& each : locks.acquire_all({"a", "b"})) {
    CHECK_NOTHROW(each.ensure_held());
    ++seen;
  }
  CHECK(seen == 2);
  CHECK(lock_key("k").str() == "k");
}
