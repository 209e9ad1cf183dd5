// SPDX-License-Identifier: BSL-1.0

// The engine without memory: what the store has granted is handed out or freed, and what is let go is freed.

#include <new>

#include "dlock/async.hpp"
#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"
#include "support/forwarding_store.hpp"
#include "support/scarce_memory.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

/// Another store, which always has memory: what a store does without is its own matter.
class ample_store : public forwarding_store {
 public:
  using forwarding_store::forwarding_store;
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override {
    const ample_memory here;
    inner().execute(connection, requests, replies);
  }
  reply session(connection& connection, session_verb action, const session_record& record) noexcept override {
    const ample_memory here;
    return inner().session(connection, action, record);
  }
  bool terminate(connection& connection, const connection_identity& lost) noexcept override {
    const ample_memory here;
    return inner().terminate(connection, lost);
  }
};

/// Counts the sessions of a minute that were opened, and their renewals.
class session_counter final : public ample_store {
 public:
  using ample_store::ample_store;
  reply session(connection& connection, session_verb action, const session_record& record) noexcept override {
    auto made = ample_store::session(connection, action, record);
    if (record.ttl == 60s && made.result == outcome::yes) {
      if (action == session_verb::open) ++opened;
      if (action == session_verb::renew) ++renewed;
    }
    return made;
  }

  std::atomic<int> opened{0};
  std::atomic<int> renewed{0};
};

struct memory_fixture : engine_fixture {
  std::unique_ptr<lock_service> locks = std::make_unique<lock_service>(std::make_shared<ample_store>(store), options());
  const lease other = locks->acquire("another key, by which the session stays");

  static std::string key(const std::string& name, std::size_t number) {
    return "a key whose text is too long to be kept in place: " + name + " " + std::to_string(number);
  }

  /// Calls `act` again and again, each time with one allocation more before memory runs out, until there is enough;
  /// after each but the last one `then`. Both get the number.
  static void without_memory(const std::function<void(std::size_t)>& before,
                             const std::function<void(std::size_t)>& act,
                             const std::function<void(std::size_t)>& then) {
    for (std::size_t number = 0;; ++number) {
      REQUIRE(number < 1000);
      INFO("allocation " << number);
      before(number);
      bool ran_out = false;
      {
        const scarce_memory scarce(number);
        try {
          act(number);
        } catch (const std::bad_alloc&) {
        } catch (const error&) {
        }
        ran_out = scarce.ran_out();
      }
      then(number);
      if (!ran_out) return;
    }
  }

  /// Soon enough, and by this process too.
  void check_free(const std::string& name) {
    REQUIRE(clock.at_rest());
    clock.advance(600ms);  // a beat of the background
    REQUIRE(clock.at_rest());
    CHECK(is_free(name));
    CHECK(granted(locks->try_acquire(name)));
    CHECK_FALSE(other.lost_token().stop_requested());
  }
};

}  // namespace

TEST_CASE_METHOD(memory_fixture, "memory: an acquire that runs out of it leaves nothing held", "[T14]") {
  const bool known = GENERATE(true, false);
  const auto answered = GENERATE(fate::pass, fate::drop);
  lease mine;
  without_memory(
      [&](std::size_t number) {
        if (known) locks->acquire(key("one", number)).release();
        if (answered == fate::drop) store->next(known ? verb::take : verb::insert, {.what = fate::drop});
      },
      [&](std::size_t number) { mine = locks->try_acquire(key("one", number)); },
      [&](std::size_t number) {
        store->forget_scripts();
        mine = {};
        check_free(key("one", number));
      });
}

TEST_CASE_METHOD(memory_fixture, "memory: a session that was opened is renewed, wherever its caller ran out of it") {
  std::shared_ptr<session_counter> counted;
  std::unique_ptr<lock_service> service;
  lease warm, mine;
  int opened = 0;
  without_memory(
      [&](std::size_t) {
        counted = std::make_shared<session_counter>(store);
        service = std::make_unique<lock_service>(counted, options());
        warm = service->acquire("warm");
      },
      [&](std::size_t) {
        mine = service->try_acquire("a key whose text is too long to be kept in place", {.ttl = 60s});
      },
      [&](std::size_t) {
        mine = {};
        REQUIRE(clock.at_rest());
        clock.advance(20s);
        REQUIRE(clock.at_rest());
        CHECK(counted->renewed == counted->opened);
        opened += counted->opened;
        warm = {};
        service.reset();
      });
  CHECK(opened > 1);  // it ran out of it after the opening as well
}

TEST_CASE_METHOD(memory_fixture, "memory: a mutex that could not be locked for want of it is not locked") {
  const bool both = GENERATE(true, false);
  std::optional<distributed_mutex> first, second;
  without_memory(
      [&](std::size_t number) {
        first.emplace(*locks, key("one", number));
        second.emplace(*locks, key("two", number));
      },
      [&](std::size_t) {
        if (both) {
          std::lock(*first, *second);
          second->unlock();
        } else {
          first->lock();
        }
        first->unlock();
      },
      [&](std::size_t number) {
        check_free(key("one", number));
        check_free(key("two", number));
      });
}

TEST_CASE("memory: the memory store without it fails, and goes on") {
  // On the calling thread: the engine's threads have memory, and what they need of it is no matter of this test.
  stores::memory_store store;
  fault why;
  const auto on = store.connect(1s, why);
  const auto id = id128::random();
  const std::string key = "a key whose text is too long to be kept in place", host(100, 'h');
  reply answer;
  const auto ask = [&](verb action) {
    const request q{.action = action, .resource = key, .session = id, .nonce = 1};
    store.execute(*on, {&q, 1}, {&answer, 1});
  };
  std::vector<std::function<outcome()>> calls{
      [&] { return store.connect(1s, why) != nullptr ? outcome::yes : outcome::failed; },
      [&] { return store.session(*on, session_verb::open, {.id = id, .ttl = 1s, .host = host}).result; },
      [&] { return ask(verb::insert), answer.result; },
      [&] { return ask(verb::poll), answer.result; },
      [&] {
        std::vector<holder_info> found;
        return store.admin()->inspect(*on, {.action = verb::poll, .resource = key}, found).result;
      },
      [&] {
        std::vector<holder_info> found;
        return store.admin()->list(*on, {}, 10, found).result;
      }};
  for (const auto& call : calls) {
    outcome result = outcome::failed;
    std::size_t failures = 0;
    for (bool ran_out = true; ran_out;) {
      const scarce_memory scarce(failures);
      result = call();
      ran_out = scarce.ran_out();
      if (ran_out) {
        CHECK(result == outcome::failed);
        ++failures;
      }
    }
    CHECK(failures > 0);
    CHECK(result == outcome::yes);
  }
}

TEST_CASE_METHOD(memory_fixture, "memory: an acquire of several keys that runs out of it leaves none held") {
  const bool known = GENERATE(true, false);
  multi_lease mine;
  without_memory(
      [&](std::size_t number) {
        if (known) locks->acquire_all(lock_keys{key("one", number), key("two", number)}).release();
      },
      [&](std::size_t number) {
        mine = locks->try_acquire_all(lock_keys{key("one", number), key("two", number)});
      },
      [&](std::size_t number) {
        mine = {};
        check_free(key("one", number));
        check_free(key("two", number));
      });
}

TEST_CASE_METHOD(memory_fixture, "memory: a lease that ends without it frees its key, and one of several keys all") {
  const bool answered = GENERATE(true, false);
  const bool several = GENERATE(true, false);
  std::optional<lease> one;
  std::optional<multi_lease> all;
  without_memory(
      [&](std::size_t number) {
        if (several) {
          all = locks->acquire_all(lock_keys{key("one", number), key("two", number)});
        } else {
          one = locks->acquire(key("one", number));
        }
        if (!answered) store->next(verb::release, {.what = fate::fail, .why = denied});
      },
      [&](std::size_t) {
        one.reset();
        all.reset();
      },
      [&](std::size_t number) {
        store->forget_scripts();
        check_free(key("one", number));
        if (several) check_free(key("two", number));
      });
}

TEST_CASE_METHOD(memory_fixture,
                 "memory: a wait does not end for want of it while another call's thread works with its poll") {
  const bool several = GENERATE(false, true);
  CAPTURE(several);
  const auto every = [](std::chrono::milliseconds pause) {
    return lock_options{.wait = 1h, .retry = {.pause = pause, .max_pause = pause, .jitter = 0.0}};
  };
  std::size_t under_way = 0;
  bool ran_out = true;
  for (std::size_t number = 0; ran_out; ++number) {
    REQUIRE(number < 1000);
    INFO("allocation " << number);
    auto one = held_elsewhere(key("one", number)), two = held_elsewhere(key("two", number));
    concurrent_call poller([&] { locks->acquire(key("two", number), every(7ms)).release(); });
    REQUIRE(clock.at_rest({.callers = 1}));
    concurrent_call waiter([&] {
      const auto outer = locks->acquire("outer");
      const auto first = key("one", number), second = key("three", number);
      const auto options = every(8ms);
      const scarce_memory scarce(number);
      try {
        if (several) {
          locks->acquire_all({first, second}, options).release();
        } else {
          locks->acquire(first, options).release();
        }
      } catch (const std::bad_alloc&) {
      }
      ran_out = scarce.ran_out();
    });
    REQUIRE(eventually([&] { return waiter.over() || clock.at_rest({.callers = 2}, 5ms); }));
    const bool waits = !waiter.over();
    const auto polls = store->hold(verb::poll);
    clock.advance(7ms);  // the one polls, and the other one with it
    REQUIRE(polls->reached());
    clock.advance(3ms);  // now its wait is looked at
    REQUIRE(eventually([&] { return waiter.over() || clock.at_rest({.callers = 1}, 5ms); }));
    CHECK(waiter.over() != waits);
    under_way += waits ? 1 : 0;
    polls->open();
    one.release();
    two.release();
    while_time_passes([&] {
      static_cast<void>(waiter.end());
      static_cast<void>(poller.end());
    });
    for (const auto* const name : {"one", "two", "three"}) check_free(key(name, number));
    check_free("outer");
  }
  CHECK(under_way > 2);
}

TEST_CASE_METHOD(memory_fixture,
                 "memory: a deadlock cycle is found even if the first search for it ran out of memory") {
  const lock_options patient{.wait = 24h, .retry = {.pause = 1h, .max_pause = 1h}};
  std::size_t found = 0;
  bool ran_out = true;
  for (std::size_t number = 0; ran_out; ++number) {
    REQUIRE(number < 1000);
    INFO("allocation " << number);
    const auto one = key("one", number), two = key("two", number);
    std::promise<void> holds, go;
    const concurrent_call second([&] {
      const auto held = locks->acquire(two);
      holds.set_value();
      go.get_future().wait();
      const scarce_memory scarce(number);
      try {
        locks->acquire(one, {.wait = 1h, .retry = {.pause = 1h, .max_pause = 1h}}).release();
      } catch (const std::bad_alloc&) {
      } catch (const lock_deadlock&) {
        ++found;
      }
      ran_out = scarce.ran_out();
    });
    holds.get_future().wait();
    const concurrent_call first([&] {
      const auto held = locks->acquire(one);
      locks->acquire(two, patient).release();
    });
    REQUIRE(clock.at_rest({.callers = 1}));
    REQUIRE(at_rest_after(15ms, {.callers = 1}));
    go.set_value();
    // Longer than two looks, and shorter than anything else that ends a wait.
    for (int i = 0; i != 20 && !second.over(); ++i) {
      REQUIRE(eventually([&] { return second.over() || clock.at_rest({.callers = 2}, 5ms); }));
      clock.advance(5ms);
    }
    CHECK(second.over(20s));
    while_time_passes([&] {
      CHECK_FALSE(second.end());
      CHECK_FALSE(first.end());
    });
    check_free(one);
    check_free(two);
  }
  CHECK(found > 5);
}

// Asynchronous calls without memory: the call throws, or its handler is told; nothing stays held.

TEST_CASE_METHOD(memory_fixture, "memory: an asynchronous acquire that runs out of it leaves nothing held") {
  lease mine;
  int calls = 0;
  without_memory([&](std::size_t) { calls = 0; },
                 [&](std::size_t number) {
                   const auto name = [&] {
                     const ample_memory here;
                     return key("one", number);
                   }();
                   locks->async_acquire(name, {}, [&](const std::exception_ptr&, lease held) {
                     mine = std::move(held);
                     ++calls;
                   });
                   ++calls;
                 },
                 [&](std::size_t number) {
                   REQUIRE(clock.at_rest());
                   CHECK((calls == 0 || calls == 2));  // the call has thrown, or the handler was called
                   mine = {};
                   check_free(key("one", number));
                 });
}

TEST_CASE_METHOD(memory_fixture,
                 "memory: an asynchronous release that runs out of it leaves the lease with its caller") {
  lease mine;
  std::optional<bool> freed;
  without_memory(
      [&](std::size_t number) {
        mine = locks->acquire(key("one", number));
        freed.reset();
      },
      [&](std::size_t) {
        async_release(std::move(mine), [&](const std::exception_ptr& failure) { freed = failure == nullptr; });
      },
      [&](std::size_t number) {
        REQUIRE(clock.at_rest());
        CHECK(freed.has_value() != static_cast<bool>(mine));
        mine = {};
        check_free(key("one", number));
      });
}
