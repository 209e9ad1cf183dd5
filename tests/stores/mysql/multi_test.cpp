// SPDX-License-Identifier: BSL-1.0

/// Several keys at once, counted at the server.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "support/mysql_fixture.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

namespace {

/// Statements that the server got while `call` ran; the least of some runs, since renewals and other clients come
/// between.
long statements_of(raw_mysql& client, const std::function<void()>& prepare, const std::function<void()>& call) {
  const auto count = [&] {
    return std::stol(client.rows("SHOW GLOBAL STATUS LIKE 'Questions'").at(0).at(1).value_or("0"));
  };
  long least = std::numeric_limits<long>::max();
  for (int i = 0; i < 5; ++i) {
    prepare();
    const auto before = count();
    call();
    least = std::min(least, count() - before - 1);  // the second SHOW itself
  }
  return least;
}

}  // namespace

TEST_CASE("mysql several keys: eight known free keys are two statements, their release is one", "[mysql][T76]") {
  const mysql_fixture fixture;
  auto root = raw_mysql::root();
  // A release of keys that were held for long may look for waiters, by one statement more.
  lock_service locks(fixture.open("&wake=off"), {.cleanup_interval = 0ms});
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) names.push_back("k" + std::to_string(i));
  const lock_keys keys(names);
  locks.acquire_all(keys).release();
  multi_lease held;
  CHECK(statements_of(
            root, [&] { held = multi_lease(); }, [&] { held = locks.acquire_all(keys); }) == 2);
  CHECK(statements_of(
            root, [&] { held = locks.acquire_all(keys); }, [&] { held.release(); }) == 1);
  // The service counts the same.
  const auto before = locks.statements();
  held = locks.acquire_all(keys);
  CHECK(locks.statements() == before + 2);
  held.release();
  CHECK(locks.statements() == before + 3);
}

TEST_CASE("mysql several keys: bytes of every kind are batched as they are", "[mysql][T76]") {
  const mysql_fixture fixture;
  lock_service locks(fixture.open(), {.cleanup_interval = 0ms});
  lock_service others(fixture.open(), {.cleanup_interval = 0ms});
  const lock_keys keys{"a'b", "a\\b", "a\"b", std::string_view("a\0b", 3), "\xff\xfe", "ü",
                       "a ",  "a",    "A",    std::string(300, 'x')};
  locks.acquire_all(keys).release();
  const auto held = locks.acquire_all(keys);
  REQUIRE(held.size() == 10);
  for (const auto& each : held) {
    CHECK(each.fencing_token() == 2);
    const auto row = others.holder(lock_key::from_stored(each.key()));
    REQUIRE(row);
    CHECK(row->fence == 2);
  }
}

TEST_CASE("mysql several keys: two processes in opposite order neither deadlock nor starve", "[mysql][T76]") {
  const mysql_fixture fixture;
  lock_service first(fixture.open(), {.cleanup_interval = 0ms});
  lock_service second(fixture.open(), {.cleanup_interval = 0ms});
  int turns = 0;  // guarded by the locks
  const auto work = [&](lock_service& locks, const std::vector<std::string>& names) {
    for (int i = 0; i < 50; ++i) {
      const auto held = locks.acquire_all(names, {.wait = 60s, .retry = {.pause = 1ms, .max_pause = 5ms}});
      ++turns;
    }
  };
  std::thread other([&] { work(second, {"b", "a"}); });
  work(first, {"a", "b"});
  other.join();
  CHECK(turns == 100);
}

}  // namespace dlock::test
