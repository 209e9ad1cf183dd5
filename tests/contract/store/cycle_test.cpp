// SPDX-License-Identifier: BSL-1.0

/// For stores with waiting::woken that find deadlock cycles of processes.

#include "contract/store/cycle_scene.hpp"

namespace dlock::test {

namespace {

struct own_place {
  std::unique_ptr<store_fixture> place = make_store_fixture();
};
struct cycle_fixture : own_place, cycle_scene {
  cycle_fixture() : cycle_scene(*place) {}
};

}  // namespace

TEST_CASE_METHOD(cycle_fixture,
                 "cycle: of several processes: the shortest wait is refused, and the exception names all of it") {
  const std::size_t size = GENERATE(2, 3, 8);
  const bool several = GENERATE(false, true);
  CAPTURE(size, several);
  std::vector<lock_key> keys;
  for (std::size_t i = 0; i != size; ++i) keys.emplace_back("k" + std::to_string(i));
  break_cycle(keys, several);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: the second thread that waits for a key of its process closes it") {
  const auto one = process("one"), other = process("other");
  // The first waiter of the process holds nothing, and stands in front.
  std::promise<void> other_holds, other_waits;
  auto theirs = std::async(std::launch::async, [&] {
    const auto held = other->acquire("b");
    other_holds.set_value();
    other_waits.get_future().wait();
    const auto got = other->acquire("a", {.wait = 60s});
  });
  other_holds.get_future().wait();
  auto front = std::async(std::launch::async, [&] { return granted(one->acquire("b", {.wait = 60s})); });
  REQUIRE(eventually([&] { return one->waiters("b").count == 1; }));
  std::promise<void> holds, goes_on;
  auto mine = std::async(std::launch::async, [&]() -> std::string {
    const auto held = one->acquire("a");
    holds.set_value();
    goes_on.get_future().wait();
    try {
      const auto got = one->acquire("b", {.wait = 30s});
    } catch (const lock_deadlock& cycle) {
      return cycle.what();
    }
    return "granted";
  });
  holds.get_future().wait();
  other_waits.set_value();
  REQUIRE(nested(1));
  goes_on.set_value();
  CHECK_THAT(mine.get(), ContainsSubstring("dlock: key 'b': the wait would never end: "));
  theirs.get();
  CHECK(front.get());
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a thread that waits for a lock of its own process is part of it") {
  const auto one = process("one"), other = process("other");
  std::promise<void> other_holds, first_holds, second_holds, other_waits;
  auto theirs = std::async(std::launch::async, [&]() -> std::string {
    const auto held = other->acquire("c");
    other_holds.set_value();
    other_waits.get_future().wait();
    try {
      const auto got = other->acquire("a", {.wait = 30s});
      return "granted";
    } catch (const lock_deadlock& cycle) {
      return cycle.what();
    }
  });
  other_holds.get_future().wait();
  auto first = waits(*one, "b", "c", first_holds);
  first_holds.get_future().wait();
  REQUIRE(nested(1));
  // It waits in the process: the server knows of nobody who waits for `b`.
  auto second = waits(*one, "a", "b", second_holds);
  second_holds.get_future().wait();
  REQUIRE(nested(2));
  other_waits.set_value();
  CHECK_THAT(theirs.get(), ContainsSubstring("one holds it and waits for 'c'; the calling thread holds 'c'"));
  CHECK(first.get() == "granted");
  CHECK(second.get() == "granted");
}

TEST_CASE_METHOD(cycle_fixture, "cycle: the wait that ends first is refused, whichever one closes it") {
  const auto one = process("one"), other = process("other");
  const bool tries = GENERATE(false, true);
  CAPTURE(tries);
  std::promise<void> theirs_held, mine_held, wait;
  const auto both_held = mine_held.get_future().share();
  // It would back off after its wait, so the other one would have its key then.
  auto theirs = std::async(std::launch::async, [&] {
    const auto held = other->acquire("b");
    theirs_held.set_value();
    both_held.wait();
    if (!tries) return end_of_wait(*other, "a", 30s);
    return granted(other->try_acquire("a", {.wait = 30s})) ? std::string("granted") : std::string("empty");
  });
  theirs_held.get_future().wait();
  auto mine = std::async(std::launch::async, [&] {
    const auto held = one->acquire("a");
    mine_held.set_value();
    wait.get_future().wait();
    return end_of_wait(*one, "b", 60s);
  });
  both_held.wait();
  REQUIRE(nested(1));
  const auto begun = std::chrono::steady_clock::now();
  wait.set_value();
  if (tries) {
    CHECK(theirs.get() == "empty");
  } else {
    CHECK_THAT(theirs.get(), ContainsSubstring(" one holds it and waits for 'b'; the calling thread holds 'b'"));
  }
  CHECK(mine.get() == "granted");
  CHECK(std::chrono::steady_clock::now() - begun < 20s);
  CHECK(seen->count(event::kind::deadlock) == 1);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a thread that gave up its wait and keeps its locks is in none") {
  const auto one = process("one"), other = process("other");
  std::promise<void> over, works_on;
  // Another thread of its process goes on waiting, so its wait stays on record.
  std::promise<void> theirs_held;
  auto theirs = std::async(std::launch::async, [&] {
    const auto held = other->acquire("b");
    theirs_held.set_value();
    over.get_future().wait();
    auto got = other->try_acquire("a", {.wait = 1s});
    const bool granted = static_cast<bool>(got);
    works_on.set_value();
    return granted;
  });
  theirs_held.get_future().wait();
  auto front = std::async(std::launch::async, [&] { return granted(one->acquire("b", {.wait = 60s})); });
  auto mine = std::async(std::launch::async, [&] {
    const auto held = one->acquire("a");
    const bool timed_out = !granted(one->try_acquire("b", {.wait = 500ms}));
    over.set_value();
    works_on.get_future().wait();  // a slow holder
    return timed_out;
  });
  CHECK_FALSE(theirs.get());
  CHECK(mine.get());
  CHECK(front.get());
  CHECK(seen->count(event::kind::deadlock) == 0);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a call for several keys is part of it once it keeps what it has taken") {
  const auto one = process("one"), other = process("other");
  std::optional<lease> a, b = other->acquire("b");
  auto both = std::async(std::launch::async, [&] { return one->acquire_all({"a", "b"}, {.wait = 60s}).size(); });
  const auto waits_for = [&](const char* key) { return eventually([&] { return one->waiters(key).count == 1; }); };
  REQUIRE(waits_for("b"));
  CHECK(end_of_wait(*other, "a", 1s) == "granted");  // it holds nothing so far
  a = other->acquire("a");
  b.reset();
  REQUIRE(waits_for("a"));
  CHECK(nested(0));
  b = other->acquire("b");
  a.reset();
  REQUIRE(nested(1));
  CHECK_THAT(end_of_wait(*other, "a"),
             ContainsSubstring(" one holds it and waits for 'b'; the calling thread holds 'b'"));
  b.reset();
  CHECK(both.get() == 2);
  CHECK(seen->count(event::kind::deadlock) == 1);
}

TEST_CASE_METHOD(cycle_fixture, "cycle: a wait that holds nothing is no part of one") {
  const auto one = process("one"), other = process("other");
  auto held = other->acquire("b");
  auto waiter = std::async(std::launch::async, [&] { return granted(one->acquire("b", {.wait = 60s})); });
  REQUIRE(eventually([&] { return one->waiters("b").count == 1; }));
  CHECK(nested(0));
  held.release();
  CHECK(waiter.get());
}

}  // namespace dlock::test
