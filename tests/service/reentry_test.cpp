// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "service/engine_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(engine_fixture, "re-entry: only the outermost release frees the key", "[reentry][T41]") {
  const auto locks = service();
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

TEST_CASE_METHOD(engine_fixture, "re-entry: the inner lease may outlive the outer", "[reentry][T41]") {
  const auto locks = service();
  auto outer = locks->acquire("k");
  auto inner = locks->acquire("k");
  outer.release();
  CHECK_FALSE(is_free("k"));
  CHECK_NOTHROW(inner.ensure_held());
  inner.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(engine_fixture, "re-entry: the fence stays", "[reentry][T43]") {
  const auto locks = service();
  const auto outer = locks->acquire("k");
  const auto inner = locks->acquire("k");
  CHECK(inner.fencing_token() == outer.fencing_token());
  CHECK(fence_of("k") == outer.fencing_token());
}

TEST_CASE_METHOD(engine_fixture, "re-entry: a kept lease ignores the inner ttl", "[reentry][T42]") {
  const auto locks = service();
  const auto outer = locks->acquire("k", {.ttl = 60s});
  const auto inner = locks->acquire("k", {.ttl = 1s});
  CHECK(inner.remaining() == 57s);
  CHECK(store->opened().size() == 1);
}

TEST_CASE_METHOD(engine_fixture, "re-entry: another way of renewal is refused, and says what the outer one has",
                 "[reentry]") {
  const auto locks = service();
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

TEST_CASE_METHOD(engine_fixture, "re-entry: a max_hold that would end the outer lease is refused, a later one holds",
                 "[reentry]") {
  const auto locks = service();
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

TEST_CASE_METHOD(engine_fixture, "re-entry: an inner min_hold counts from there, and never shortens the outer one",
                 "[reentry]") {
  const auto locks = service();
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
                 "re-entry: what the service's defaults ask for holds for an inner lease without options",
                 "[reentry][T42]") {
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

TEST_CASE_METHOD(engine_fixture, "re-entry: an expiry of its own is only ever extended", "[reentry][T42]") {
  const auto locks = service();
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

TEST_CASE_METHOD(engine_fixture, "re-entry: extends to the inner ttl, not to the outer's once more", "[reentry][T42]") {
  const auto locks = service();
  const auto outer = locks->acquire("k", {.ttl = 60s, .renewal = renewal::none});
  clock.advance(50s);
  const auto inner = locks->acquire("k", {.ttl = 20s, .renewal = renewal::none});
  CHECK(inner.remaining() == 19s);
}

TEST_CASE_METHOD(engine_fixture, "re-entry: refused with the fence at hand when so asked", "[reentry][T10][T45]") {
  const auto locks = service();
  const auto outer = locks->acquire("k");
  const auto refused = caught<lock_refused>([&] { return locks->acquire("k", {.reentry = reentry::refuse}); });
  CHECK(refused.code() == errc::already_held);
  CHECK(std::string(refused.what()).find("fence 1") != std::string::npos);
  CHECK(thrown([&] { return locks->try_acquire("k", {.reentry = reentry::refuse}); }) == errc::already_held);
}

TEST_CASE_METHOD(engine_fixture, "re-entry: answers busy when so asked", "[reentry][T10]") {
  const auto locks = service();
  auto outer = locks->acquire("k");
  CHECK_FALSE(locks->try_acquire("k", {.reentry = reentry::busy}));
  CHECK(thrown([&] { return locks->acquire("k", {.wait = 0ms, .reentry = reentry::busy}); }) == errc::timed_out);
  CHECK(while_time_passes([&] {
          const owner_scope here(owner::current());
          return thrown([&] { return locks->acquire("k", {.wait = 50ms, .reentry = reentry::busy}); });
        }) == errc::timed_out);
  outer.release();
  CHECK(locks->try_acquire("k", {.reentry = reentry::busy}));
}

TEST_CASE_METHOD(engine_fixture, "re-entry: a waiter that wants no re-entry waits for the release", "[reentry][T33]") {
  const auto home = core();
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
  REQUIRE(eventually([&] { return home.waiting() == 1; }));
  outer.release();
  waiter.join();
  CHECK(second.fencing_token() == 2);
  CHECK_FALSE(second.reentered());
  second.release();
  home.close(0ms);
  home.finish();
}

TEST_CASE_METHOD(engine_fixture, "re-entry: after a loss it throws, until the lost lease is let go", "[reentry][T46]") {
  const auto locks = service();
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

TEST_CASE_METHOD(engine_fixture,
                 "re-entry: of a lost grant and its successor the latter is found, however many keys come",
                 "[reentry][T46]") {
  const auto locks = service();
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

TEST_CASE_METHOD(engine_fixture, "re-entry: an inner release of a lost lease says so too", "[reentry][T06]") {
  const auto locks = service();
  auto outer = locks->acquire("k");
  auto inner = locks->acquire("k");
  CHECK(locks->force_release("k"));
  clock.advance(11s);
  REQUIRE(is_lost(outer));
  CHECK(thrown([&] { inner.release(); }) == errc::lost);
  CHECK(thrown([&] { outer.release(); }) == errc::lost);
}

TEST_CASE_METHOD(engine_fixture, "owner: a task's lease is not another task's on the same thread", "[owner][T40]") {
  const auto locks = service();
  std::optional<lease> leaked;
  {
    const owner_scope task_a;
    leaked = locks->acquire("k");
    CHECK(locks->acquire("k").reentered());
  }
  {
    const owner_scope task_b;
    CHECK_FALSE(locks->try_acquire("k"));
  }
  CHECK_FALSE(locks->try_acquire("k"));  // nor the thread's own
}

TEST_CASE_METHOD(engine_fixture, "owner: a task that moves between threads takes its locks along",
                 "[owner][T09][T40]") {
  const auto locks = service();
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

TEST_CASE_METHOD(engine_fixture, "owner: two threads of one owner share the grant, the last one frees it",
                 "[owner][T41][T44]") {
  const auto locks = service();
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

TEST_CASE_METHOD(engine_fixture, "owner: scopes nest and the thread's own comes back", "[owner]") {
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

TEST_CASE_METHOD(engine_fixture, "owner: services do not share what an owner holds", "[owner]") {
  const auto first = service();
  const auto second = service();
  const auto held = first->acquire("k");
  CHECK_FALSE(second->try_acquire("k"));
}

TEST_CASE("re-entry: a request is one owner, however often it is made and forgotten", "[reentry][request]") {
  const owner first{"request-1"};
  CHECK(first == owner{"request-1"});
  CHECK_FALSE(first == owner{"request-2"});
  for (int i = 0; i < 1000; ++i) static_cast<void>(owner{"passing-" + std::to_string(i)});
  CHECK(first == owner{"request-1"});
  CHECK_FALSE(owner{} == owner{});
  CHECK(owner{std::string(64, 'x')} == owner{std::string(64, 'x')});
}

TEST_CASE("re-entry: a request id that no column could hold as it is, is refused with its text", "[reentry][request]") {
  for (const std::string bad : {"", " ", "a b", "a/b", "caf\xc3\xa9", "tab\there"}) {
    CAPTURE(bad);
    CHECK_THROWS_MATCHES(owner{bad}, std::invalid_argument,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("1 to 64 printable")));
  }
  CHECK_THROWS_AS(owner{std::string(65, 'x')}, std::invalid_argument);
  CHECK_THROWS_AS(owner{std::string_view("a\0b", 3)}, std::invalid_argument);
}
