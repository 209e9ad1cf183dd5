// SPDX-License-Identifier: BSL-1.0
#include "dlock/with_lock.hpp"

#include <catch2/catch_test_macros.hpp>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/calls.hpp"
#include "unit/api/memory_fixture.hpp"

namespace {

using dlock::lease;
using dlock::test::memory_fixture;
using namespace std::chrono_literals;

int plain_function() { return 11; }

struct both_ways {
  int operator()() const { return 1; }
  int operator()(const lease&) const { return 2; }
};

// A call of with_lock() with anything else ends the compilation with a sentence (compile_fail).
static_assert(!dlock::detail::callable_under_lock<int (*)(int)>);
static_assert(dlock::detail::callable_under_lock<int (*)(const lease&)>);
static_assert(!dlock::detail::callable_under_lock<int (*)(lease)>);  // the lease stays with_lock's

}  // namespace

TEST_CASE_METHOD(memory_fixture, "with_lock: the function runs under the lock, which is free afterwards",
                 "[with_lock]") {
  bool free_inside = true;
  locks.with_lock("k", [&] { free_inside = is_free("k"); });
  CHECK_FALSE(free_inside);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "with_lock: results of every kind come through unchanged", "[with_lock][T87]") {
  int target = 5;

  STATIC_CHECK(std::same_as<decltype(locks.with_lock("k", [] {})), void>);
  STATIC_CHECK(std::same_as<decltype(locks.with_lock("k", [&]() -> int& { return target; })), int&>);
  STATIC_CHECK(std::same_as<decltype(locks.with_lock("k", [&]() -> const int& { return target; })), const int&>);
  STATIC_CHECK(std::same_as<decltype(locks.with_lock("k", [&]() -> int&& { return std::move(target); })), int&&>);

  CHECK(locks.with_lock("k", [] { return 7; }) == 7);
  CHECK(&locks.with_lock("k", [&]() -> int& { return target; }) == &target);
  CHECK(*locks.with_lock("k", [] { return std::make_unique<int>(9); }) == 9);
  CHECK(*locks.with_lock("k", []() -> const std::unique_ptr<int> { return std::make_unique<int>(10); }) == 10);
  auto owned = std::make_unique<int>(12);
  const std::unique_ptr<int> taken = locks.with_lock("k", [&]() -> std::unique_ptr<int>&& { return std::move(owned); });
  CHECK(*taken == 12);
  CHECK(owned == nullptr);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: any callable is called, once", "[with_lock]") {
  CHECK(locks.with_lock("k", plain_function) == 11);
  CHECK(locks.with_lock("k", &plain_function) == 11);
  CHECK(locks.with_lock("k", std::function<int()>(plain_function)) == 11);
  CHECK(locks.with_lock("k", both_ways{}) == 1);  // without the lease where both would do
  int calls = 0;
  locks.with_lock(
      "k", [calls_ = &calls, only_movable = std::make_unique<int>(1)]() mutable { *calls_ += (*only_movable)++; });
  CHECK(calls == 1);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: the function may take its lease", "[with_lock]") {
  const auto first = locks.with_lock("k", [](const lease& held) { return held.fencing_token(); });
  const auto second = locks.with_lock("k", [](lease& held) { return held.fencing_token(); });
  CHECK(second == first + 1);
  CHECK(locks.with_lock("k", [](auto& held) { return std::string(held.key()); }) == "k");
  locks.with_lock("k", {.ttl = 1s, .renewal = dlock::renewal::manual}, [&](lease& held) {
    clock.advance(700ms);
    held.renew();
    clock.advance(700ms);
    held.ensure_held();
  });
}

TEST_CASE_METHOD(memory_fixture, "with_lock: no function runs without the lock", "[with_lock][T03]") {
  int runs = 0;
  const auto body = [&] { ++runs; };
  {
    const lease theirs = rival.acquire("k");
    CHECK_THROWS_AS(locks.with_lock("k", {.wait = 0ms}, body), dlock::lock_timeout);
    CHECK_THROWS_AS(locks.with_lock("k", {.wait = 0ms}, body), dlock::lock_timeout);
    CHECK_FALSE(locks.try_with_lock("k", {.wait = 0ms}, body));
    CHECK_FALSE(locks.try_with_lock("k", body));
  }
  CHECK_THROWS_AS(locks.with_lock("k", {.ttl = -1s}, body), std::invalid_argument);
  CHECK_THROWS_AS(locks.with_lock("", body), std::invalid_argument);
  locks.close(0ms);
  CHECK_THROWS_AS(locks.with_lock("k", body), dlock::lock_refused);
  CHECK_THROWS_AS(locks.try_with_lock("k", body), dlock::lock_refused);
  CHECK(runs == 0);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: nothing is released when nothing was acquired", "[with_lock][T02]") {
  const lease theirs = rival.acquire("k");
  CHECK_THROWS_AS(locks.with_lock("k", {.wait = 0ms}, [] {}), dlock::lock_timeout);
  CHECK_FALSE(locks.try_with_lock("k", [] {}));
  CHECK(seen->count(dlock::event::kind::released) == 0);
  theirs.ensure_held();
  CHECK_FALSE(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "with_lock: an exception passes and the key is released", "[with_lock]") {
  CHECK_THROWS_AS(locks.with_lock("k", []() -> int { throw std::out_of_range("mine"); }), std::out_of_range);
  CHECK(is_free("k"));
  CHECK_THROWS_AS(locks.try_with_lock("k", []() -> int { throw std::out_of_range("mine"); }), std::out_of_range);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "with_lock: a result made under a lost lease is not handed out", "[with_lock]") {
  int target = 0;
  CHECK_THROWS_AS(locks.with_lock("k", [&] { return outlive_leases(), 1; }), dlock::lock_lost);
  CHECK_THROWS_AS(locks.with_lock("k", [&] { outlive_leases(); }), dlock::lock_lost);
  CHECK_THROWS_AS(locks.with_lock("k", [&]() -> int& { return outlive_leases(), target; }), dlock::lock_lost);
  CHECK_THROWS_AS(locks.try_with_lock("k", [&] { return outlive_leases(), 1; }), dlock::lock_lost);
  CHECK_THROWS_AS(locks.try_with_lock("k", [&] { outlive_leases(); }), dlock::lock_lost);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: a successor is left alone after a loss", "[with_lock][T08]") {
  lease theirs;
  CHECK_THROWS_AS(locks.with_lock("k",
                                  [&] {
                                    outlive_leases();
                                    theirs = rival.acquire("k");
                                  }),
                  dlock::lock_lost);
  theirs.ensure_held();
  CHECK_NOTHROW(theirs.release());
}

TEST_CASE_METHOD(memory_fixture, "with_lock: the function's own exception wins over a loss", "[with_lock]") {
  CHECK_THROWS_AS(locks.with_lock("k",
                                  [&]() -> int {
                                    outlive_leases();
                                    throw std::out_of_range("mine");
                                  }),
                  std::out_of_range);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: re-entry runs at once, and an inner loss is found at the inner end",
                 "[with_lock]") {
  bool inner_again = false;
  bool free_between = true;
  locks.with_lock("k", [&] {
    locks.with_lock("k", [&](const lease& held) { inner_again = held.reentered(); });
    free_between = is_free("k");
  });
  CHECK(inner_again);
  CHECK_FALSE(free_between);
  CHECK(is_free("k"));

  bool inner_returned = false;
  CHECK_THROWS_AS(locks.with_lock("k",
                                  [&] {
                                    locks.with_lock("k", [&] { outlive_leases(); });
                                    inner_returned = true;
                                  }),
                  dlock::lock_lost);
  CHECK_FALSE(inner_returned);
}

TEST_CASE_METHOD(memory_fixture, "with_lock: a function may let its lease go itself", "[with_lock][T08]") {
  lease kept;
  CHECK(locks.with_lock("k", [](lease& held) { return held.release(), 1; }) == 1);
  CHECK(is_free("k"));
  CHECK(locks.with_lock("k", [&](lease& held) { return kept = std::move(held), 2; }) == 2);
  CHECK_FALSE(is_free("k"));
  kept.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "with_lock: options reach the service, and without them its defaults do",
                 "[with_lock][T10]") {
  locks.with_lock("k", {.ttl = 5s}, [](const lease& held) { CHECK(held.remaining() <= 5s); });
  locks.with_lock("k", [](const lease& held) { CHECK(held.remaining() > 5s); });
  locks.with_lock("k", [&] {
    const auto twice = [&] { locks.with_lock("k", {.reentry = dlock::reentry::refuse}, [] { FAIL("ran"); }); };
    CHECK(dlock::test::thrown(twice) == dlock::errc::already_held);
    CHECK_FALSE(locks.try_with_lock("k", {.reentry = dlock::reentry::busy}, [] { FAIL("ran"); }));
  });
  const lease theirs = rival.acquire("k");
  CHECK_THROWS_AS(locks.with_lock("k", [] {}), dlock::lock_timeout);  // the fixture's default wait is 0
}

TEST_CASE_METHOD(memory_fixture, "with_lock: an explicit service is used, not the default one", "[with_lock]") {
  std::size_t mine = 0;
  rival.with_lock("k", [&] { mine = seen->count(dlock::event::kind::granted); });
  rival.with_lock("k", {.wait = 0ms}, [&] { mine += seen->count(dlock::event::kind::granted); });
  CHECK(mine == 0);
  locks.with_lock("k", [&] { mine = seen->count(dlock::event::kind::granted); });
  CHECK(mine == 1);
}

TEST_CASE("with_lock: without a default service it throws and says so", "[with_lock]") {
  int runs = 0;
  CHECK_THROWS_AS(dlock::default_service().with_lock("k", [&] { ++runs; }), std::logic_error);
  CHECK_THROWS_AS(dlock::default_service().try_with_lock("k", [&] { return ++runs; }), std::logic_error);
  CHECK(runs == 0);
}

TEST_CASE_METHOD(memory_fixture, "try_with_lock: the result says whether the function ran", "[with_lock][T87]") {
  int target = 5;
  const auto reference = [&]() -> int& { return target; };
  STATIC_CHECK(std::same_as<decltype(locks.try_with_lock("k", [] {})), bool>);
  STATIC_CHECK(std::same_as<decltype(locks.try_with_lock("k", reference)), std::optional<std::reference_wrapper<int>>>);
  STATIC_CHECK(std::same_as<decltype(locks.try_with_lock("k", [] { return true; })), dlock::maybe_bool>);
  STATIC_CHECK_FALSE(std::is_constructible_v<bool, dlock::maybe_bool>);

  CHECK(locks.try_with_lock("k", [] {}));
  CHECK(locks.try_with_lock("k", [] { return 3; }) == 3);
  CHECK(&locks.try_with_lock("k", reference).value().get() == &target);
  CHECK(**locks.try_with_lock("k", [] { return std::make_unique<int>(4); }) == 4);
  CHECK(locks.try_with_lock("k", [] { return std::optional<int>(); }).has_value());  // it ran, and gave nothing

  CHECK(locks.try_with_lock("k", [] { return false; }).has_value());
  CHECK(locks.try_with_lock("k", [] { return false; }) == false);
  CHECK(locks.try_with_lock("k", [] { return true; }).value_or(false));
  CHECK(std::optional<bool>(locks.try_with_lock("k", [] { return true; })) == true);

  const lease theirs = rival.acquire("k");
  CHECK_FALSE(locks.try_with_lock("k", [] {}));
  CHECK_FALSE(locks.try_with_lock("k", [] { return 3; }).has_value());
  CHECK_FALSE(locks.try_with_lock("k", [] { return true; }).has_value());
  CHECK_THROWS_AS(locks.try_with_lock("k", [] { return true; }).value(), std::bad_optional_access);
  CHECK_FALSE(locks.try_with_lock("k", reference).has_value());
  CHECK_FALSE(locks.try_with_lock("k", {.wait = 0ms}, [] { return 3; }).has_value());
}

namespace {

struct parcel {
  int weight = 3;
  virtual ~parcel() = default;
  virtual int weighed(int times) const { return weight * times; }
  int&& moved_out() && { return std::move(weight); }
};
struct fragile final : parcel {
  int weighed(int times) const override { return -parcel::weighed(times); }
};

/// Whether detail::invoke gives what std::invoke gives, of the same type.
template <class F, class... Args>
bool as_std(F&& fn, Args&&... args) {
  STATIC_CHECK(std::same_as<decltype(dlock::detail::invoke(std::forward<F>(fn), std::forward<Args>(args)...)),
                            std::invoke_result_t<F, Args...>>);
  return dlock::detail::invoke(fn, args...) == std::invoke(fn, args...);
}

}  // namespace

TEST_CASE("with_lock: whatever std::invoke can call is called as it does", "[with_lock]") {
  parcel plain;
  fragile glass;
  const parcel fixed;
  const auto shared = std::make_shared<fragile>();
  CHECK(as_std(plain_function));
  CHECK(as_std([](int a, int b) { return a - b; }, 5, 3));
  CHECK(as_std(&parcel::weighed, glass, 2));
  CHECK(as_std(&parcel::weighed, &glass, 2));
  CHECK(as_std(&parcel::weighed, shared, 2));
  CHECK(as_std(&parcel::weighed, std::ref(plain), 2));
  CHECK(as_std(&parcel::weighed, std::cref(fixed), 2));
  CHECK(as_std(&parcel::weight, plain));
  CHECK(as_std(&parcel::weight, fixed));
  CHECK(as_std(&parcel::weight, shared));
  CHECK(as_std(&parcel::weight, std::ref(glass)));
  CHECK(&dlock::detail::invoke(&parcel::weight, plain) == &plain.weight);
  CHECK(dlock::detail::invoke(&parcel::moved_out, parcel()) == 3);
}
