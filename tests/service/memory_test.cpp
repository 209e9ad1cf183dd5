// SPDX-License-Identifier: GPL-2.0-or-later
// The engine without memory: what the store has granted is handed out or freed, and what is let go is freed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <optional>
#include <string>

#include "service/scarce_memory_fixture.hpp"

using namespace dlock;
using namespace dlock::test;

TEST_CASE_METHOD(memory_fixture, "memory: an acquire that runs out of it leaves nothing held", "[memory][T14]") {
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

TEST_CASE_METHOD(memory_fixture, "memory: an acquire of several keys that runs out of it leaves none held",
                 "[memory][multi]") {
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

TEST_CASE_METHOD(memory_fixture, "memory: a lease that ends without it frees its key", "[memory]") {
  const bool answered = GENERATE(true, false);
  std::optional<lease> mine;
  without_memory(
      [&](std::size_t number) {
        mine = locks->acquire(key("one", number));
        if (!answered) store->next(verb::release, {.what = fate::fail, .why = {.native = 1142, .text = "denied"}});
      },
      [&](std::size_t) { mine.reset(); },
      [&](std::size_t number) {
        store->forget_scripts();
        check_free(key("one", number));
      });
}

TEST_CASE_METHOD(memory_fixture, "memory: leases that end together without it free their keys", "[memory][multi]") {
  const bool answered = GENERATE(true, false);
  std::optional<multi_lease> mine;
  without_memory(
      [&](std::size_t number) {
        mine = locks->acquire_all(lock_keys{key("one", number), key("two", number)});
        if (!answered) store->next(verb::release, {.what = fate::fail, .why = {.native = 1142, .text = "denied"}});
      },
      [&](std::size_t) { mine.reset(); },
      [&](std::size_t number) {
        store->forget_scripts();
        check_free(key("one", number));
        check_free(key("two", number));
      });
}
