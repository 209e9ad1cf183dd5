// SPDX-License-Identifier: BSL-1.0

// The engine without memory: what the store has granted is handed out or freed, and what is let go is freed.

#include "dlock/async.hpp"
#include "dlock/distributed_mutex.hpp"
#include "service/scarce_memory_fixture.hpp"
#include "support/test.hpp"

using namespace dlock::test;
using namespace dlock;

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

TEST_CASE_METHOD(memory_fixture, "memory: a lease that ends without it frees its key") {
  const bool answered = GENERATE(true, false);
  std::optional<lease> mine;
  without_memory(
      [&](std::size_t number) {
        mine = locks->acquire(key("one", number));
        if (!answered) store->next(verb::release, {.what = fate::fail, .why = denied});
      },
      [&](std::size_t) { mine.reset(); },
      [&](std::size_t number) {
        store->forget_scripts();
        check_free(key("one", number));
      });
}

TEST_CASE_METHOD(memory_fixture, "memory: leases that end together without it free their keys") {
  const bool answered = GENERATE(true, false);
  std::optional<multi_lease> mine;
  without_memory(
      [&](std::size_t number) {
        mine = locks->acquire_all(lock_keys{key("one", number), key("two", number)});
        if (!answered) store->next(verb::release, {.what = fate::fail, .why = denied});
      },
      [&](std::size_t) { mine.reset(); },
      [&](std::size_t number) {
        store->forget_scripts();
        check_free(key("one", number));
        check_free(key("two", number));
      });
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
