// SPDX-License-Identifier: BSL-1.0
// What asynchronous calls promise: who is told, when, where, and of what.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dlock/owner.hpp"
#include "service/async_fixture.hpp"
#include "support/gate.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

/// A handler that must not be called.
template <class... Results>
async_handler<Results...> never() {
  return [](const std::exception_ptr&, Results...) { FAIL("a handler was called"); };
}

/// For a call that is refused: whether its handler was destroyed, and not called.
struct uncalled {
  std::shared_ptr<int> alive = std::make_shared<int>(0);
  async_handler<lease> handler() {
    return [alive = alive](const std::exception_ptr&, lease) { ++*alive; };
  }
  bool holds() const { return *alive == 0 && alive.use_count() == 1; }
};

}  // namespace

// ---- how it is called -----------------------------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: what is wrong with the call is thrown by it, and the handler is not called",
                 "[async]") {
  uncalled then;
  CHECK_THROWS_AS(home->async_acquire("k", {.ttl = 1ms}, then.handler()), std::invalid_argument);
  CHECK_THROWS_AS(home->async_try_acquire("k", {.wait = -1ms}, then.handler()), std::invalid_argument);
  CHECK(then.holds());
  CHECK_THROWS_AS(home->async_acquire_all({"a", "b"}, {.ttl = 1ms}, never<multi_lease>()), std::invalid_argument);
  CHECK_THROWS_AS(home->async_acquire("k", {}, std::function<void(std::exception_ptr, lease)>()),
                  std::invalid_argument);
  lease none;
  CHECK_THROWS_AS(async_release(std::move(none), never<>()), std::logic_error);
  multi_lease nothing;
  CHECK_THROWS_AS(async_release(std::move(nothing), never<>()), std::logic_error);
  CHECK_THROWS_AS(async_renew(none, never<>()), std::logic_error);
  const auto renewed = home->acquire("r");
  CHECK_THROWS_AS(async_renew(renewed, never<>()), std::logic_error);
  const auto by_hand = home->acquire("m", {.renewal = renewal::manual});
  CHECK_THROWS_AS(async_renew(by_hand, 1ms, never<>()), std::invalid_argument);
  auto held = home->acquire("h");
  CHECK_THROWS_AS(async_release(std::move(held), std::function<void(std::exception_ptr)>()), std::invalid_argument);
  CHECK(held);
  settle();
  CHECK(home->count(event::kind::granted) == 3);
}

TEST_CASE_METHOD(async_fixture, "async: what ends a call is told to its handler, once, and not by the caller's thread",
                 "[async]") {
  const auto rival = foreign();
  const auto theirs = rival->acquire("busy", {.ttl = 1h});
  std::stop_source stop;
  stop.request_stop();
  async_lock granted(*this, "k"), busy(*this, "busy", {.wait = 0s});
  async_lock cancelled(*this, "c", {.cancel = stop.get_token()});
  const auto taking = store->hold(verb::insert);
  for (auto* each : {&granted, &busy, &cancelled}) each->acquire();
  REQUIRE(taking->reached());
  taking->open();
  settle();
  for (const auto* each : {&granted, &busy, &cancelled}) {
    REQUIRE(each->over());
    CHECK(each->on() == granted.on());
    CHECK(each->on() != std::this_thread::get_id());
  }
  CHECK(granted.held());
  CHECK(busy.end() == errc::timed_out);
  CHECK(cancelled.end() == errc::cancelled);
  CHECK(fence_of("c") == 0);
  home->close(0ms);
  async_lock late(*this, "late");
  late.acquire();
  settle();
  CHECK(late.over());
  CHECK(late.end() == errc::closed);
}

TEST_CASE_METHOD(async_fixture, "async: a try of a busy key gives an empty lease", "[async]") {
  const auto rival = foreign();
  const auto theirs = rival->acquire("k", {.ttl = 1h});
  int handled = 0;
  home->async_try_acquire("k", {}, [&](const std::exception_ptr& failure, const lease& held) {
    handled += failure == nullptr && !held ? 1 : 100;
  });
  home->async_try_acquire_all({"a", "k"}, {}, [&](const std::exception_ptr& failure, const multi_lease& held) {
    handled += failure == nullptr && !held ? 1 : 100;
  });
  settle();
  CHECK(handled == 2);
  CHECK(is_free("a"));
}

TEST_CASE_METHOD(async_fixture, "async: two calls on one thread exclude each other, and blocking calls", "[async]") {
  async_lock first(*this, "k"), second(*this, "k");
  first.acquire();
  second.acquire();
  settle();
  CHECK(first.over());
  CHECK_FALSE(second.over());
  CHECK_FALSE(home->try_acquire("k"));
  CHECK_FALSE(home->holds("k"));
  first.release();
  settle();
  CHECK(second.held());
}

TEST_CASE_METHOD(async_fixture, "async: an owner_scope at the call says who asks, and he enters again", "[async]") {
  const owner me;
  async_lock first(*this, "k"), again(*this, "k", {.wait = 0s}), foreign_here(*this, "k", {.wait = 0s});
  {
    const owner_scope here{me};
    first.acquire();
  }
  settle();
  {
    const owner_scope here{me};
    again.acquire();
    CHECK(home->holds("k"));
  }
  foreign_here.acquire();
  settle();
  CHECK(again.held().reentered());
  CHECK(again.held().fencing_token() == first.held().fencing_token());
  CHECK(foreign_here.end() == errc::timed_out);
  first.release();
  settle();
  CHECK(first.released());
  CHECK_FALSE(is_free("k"));
  again.release();
  settle();
  CHECK(is_free("k"));
}

// ---- handlers -------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: a handler that blocks keeps up other handlers, and nothing else", "[async]") {
  const auto inside = std::make_shared<gate>();
  home->async_acquire("first", {}, [inside](const std::exception_ptr&, const lease&) { inside->pass(); });
  REQUIRE(inside->reached());
  async_lock mine(*this, "mine");
  mine.acquire();
  settle({.busy = 1});
  CHECK(fence_of("mine") != 0);  // granted, and nobody can be told
  CHECK_FALSE(mine.over());
  // Renewals, blocking calls, and those that wait for them.
  const auto held = home->acquire("held", {.ttl = 5s});
  for (int i = 0; i < 10; ++i) settle_after(2s, {.busy = 1});
  CHECK(held.remaining() > 2s);
  CHECK(seen->count(event::kind::lost) == 0);
  elsewhere([&] { home->acquire("other").release(); });
  inside->open();
  settle();
  CHECK(mine.over());
  CHECK(mine.held());
}

TEST_CASE_METHOD(async_fixture, "async: what failed lets go before its handler is called", "[async]") {
  const auto rival = foreign();
  auto theirs = rival->acquire("k", {.ttl = 1h});
  const auto inside = std::make_shared<gate>();
  home->async_acquire("first", {}, [inside](const std::exception_ptr&, const lease&) { inside->pass(); });
  REQUIRE(inside->reached());
  async_lock gives_up(*this, "k", {.wait = 1s});
  gives_up.acquire();
  settle({.busy = 1});
  settle_after(2s, {.busy = 1});
  CHECK_FALSE(gives_up.over());  // it has the turn no more, though nobody has been told
  theirs.release();
  elsewhere([&] { home->acquire("k", {.wait = 0s}).release(); });
  inside->open();
  settle();
  CHECK(gives_up.end() == errc::timed_out);
}

TEST_CASE_METHOD(async_fixture, "async: what a handler throws is caught and told, and its lease is released",
                 "[async]") {
  home->async_acquire("k", {}, [](const std::exception_ptr&, const lease&) { throw std::runtime_error("oh no"); });
  home->async_acquire("l", {}, [](const std::exception_ptr&, const lease&) { throw 42; });
  settle();
  CHECK(home->count(event::kind::handler_failed) == 2);
  CHECK(seen->count(event::kind::handler_failed) == 2);
  const auto records = seen->records();
  CHECK(std::any_of(records.begin(), records.end(), [](const auto& each) { return each.text == "oh no"; }));
  CHECK(is_free("k"));
  CHECK(is_free("l"));
}

TEST_CASE_METHOD(async_fixture, "async: a handler may release its lease, waiting for that or not", "[async]") {
  std::atomic<int> freed{0};
  home->async_acquire("waits", {}, [&](const std::exception_ptr&, lease held) {
    held.release();
    ++freed;
  });
  home->async_acquire("drops", {}, [&](const std::exception_ptr&, lease) { ++freed; });
  home->async_acquire("async", {}, [&](const std::exception_ptr&, lease held) {
    async_release(std::move(held), [&](const std::exception_ptr& failure) { freed += failure == nullptr ? 1 : 100; });
  });
  settle();
  CHECK(freed == 3);
  for (const auto* key : {"waits", "drops", "async"}) CHECK(is_free(key));
}

TEST_CASE_METHOD(async_fixture, "async: a handler that begins the next call is not called from inside it", "[async]") {
  constexpr int many = 3000;
  struct chain {
    lock_service& locks;
    int left = many;
    std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
    void next() {
      locks.async_acquire("k", {}, [this](const std::exception_ptr& failure, lease held) {
        REQUIRE(failure == nullptr);
        const auto here = reinterpret_cast<std::uintptr_t>(&held);
        lowest = std::min(lowest, here);
        highest = std::max(highest, here);
        async_release(std::move(held), [this](const std::exception_ptr&) {
          if (--left > 0) next();
        });
      });
    }
  } all{*home};
  all.next();
  settle();
  CHECK(all.left == 0);
  CHECK(all.highest - all.lowest < 4096);
}

TEST_CASE_METHOD(async_fixture, "async: handlers of any size may be moved only, and are destroyed once", "[async]") {
  struct large {
    std::unique_ptr<int> more;
    std::array<char, 200> text{};
  };
  auto alive = std::make_shared<int>(0);
  home->async_acquire(
      "k", {}, [it = std::make_unique<int>(7), alive](const std::exception_ptr&, const lease&) { *alive += *it; });
  home->async_acquire("l", {}, [it = large{std::make_unique<int>(5), {}}, alive](const std::exception_ptr&, lease&&) {
    *alive += *it.more;
  });
  settle();
  CHECK(*alive == 12);
  CHECK(alive.use_count() == 1);
}

TEST_CASE_METHOD(async_fixture, "async: the observer is told on the thread of handlers, before the handler",
                 "[async]") {
  struct watching final : observer {
    std::mutex mutex{};
    std::vector<std::pair<event::kind, std::thread::id>> events{};
    void on(const event& event) override {
      const std::lock_guard lock(mutex);
      events.emplace_back(event.what, std::this_thread::get_id());
    }
  };
  const auto watch = std::make_shared<watching>();
  auto settings = options();
  settings.observer = watch;
  settings.close_limit = 1h;
  const auto locks = service(settings);
  std::thread::id thread;
  std::size_t before = 0;
  locks->async_acquire("k", {}, [&](const std::exception_ptr&, lease held) {
    thread = std::this_thread::get_id();
    const std::lock_guard lock(watch->mutex);
    before = watch->events.size();
    async_release(std::move(held), [](const std::exception_ptr&) {});
  });
  settle();
  const std::lock_guard lock(watch->mutex);
  REQUIRE(before > 0);
  CHECK(watch->events[before - 1].first == event::kind::granted);
  CHECK(watch->events.back().first == event::kind::released);
  CHECK(
      std::all_of(watch->events.begin(), watch->events.end(), [&](const auto& each) { return each.second == thread; }));
}
