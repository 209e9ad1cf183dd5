// SPDX-License-Identifier: BSL-1.0

/// How long a service on an SQLite file waits while somebody else's transaction writes to it.

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dlock/lock_service.hpp"
#include "support/calls.hpp"
#include "support/eventually.hpp"
#include "support/raw_sqlite.hpp"
#include "support/recording_observer.hpp"
#include "support/scratch_folder.hpp"

using namespace std::chrono_literals;

namespace dlock::test {

namespace {

struct limits_fixture {
  /// Nobody can write to the file but whoever has this.
  std::unique_ptr<raw_sqlite> foreign() const {
    auto client = std::make_unique<raw_sqlite>(path);
    client->run("BEGIN IMMEDIATE");
    return client;
  }
  service_options options() const {
    return {.release_limit = 200ms, .close_limit = 0ms, .cleanup_interval = 0ms, .observer = seen};
  }

  scratch_folder folder{};
  const std::string path = folder / "locks.db";
  std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();
};

constexpr auto sluggish = 800ms;  // a busy machine; a statement's own limit would be a second

/// Of three times: what it takes where nothing stalls.
template <class F>
auto least_of_three(F&& call) {
  const auto first = duration_of(call), second = duration_of(call), third = duration_of(call);
  return std::min({first, second, third});
}

}  // namespace

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a release, a lease's end and a service's are bound by release_limit",
                 "[sqlite][T10][T89]") {
  std::array<std::optional<lock_service>, 3> locks;
  std::vector<lease> first, second;
  for (auto& each : locks) {
    each.emplace("sqlite:" + path, options());
    first.push_back(each->acquire("first" + std::to_string(first.size())));
    second.push_back(each->acquire("second" + std::to_string(second.size())));
  }
  auto writing = foreign();
  auto released = first.begin(), dropped = second.begin();
  CHECK(least_of_three([&] { CHECK_THROWS_AS((released++)->release(), store_error); }) < 200ms + sluggish);
  CHECK(least_of_three([&] { *dropped++ = lease{}; }) < 200ms + sluggish);
  CHECK(seen->count(event::kind::release_failed) == 6);
  SECTION("while it goes on") {}
  SECTION("and what was not done is done later") {
    writing->run("COMMIT");
    lock_service others("sqlite:" + path, options());
    for (const char* each : {"first0", "first1", "first2", "second0", "second1", "second2"}) {
      CHECK(others.acquire(each, {.wait = 20s}));
    }
  }
  auto ended = locks.begin();
  CHECK(least_of_three([&] { (ended++)->reset(); }) < 200ms + sluggish);
}

TEST_CASE_METHOD(limits_fixture,
                 "sqlite limits: an acquire waits little longer than it was told, an operator one second", "[sqlite]") {
  lock_service locks("sqlite:" + path, options());
  lock_service others("sqlite:" + path, options());
  const auto theirs = others.acquire("theirs");
  { const auto makes_the_session = locks.acquire("k"); }
  const auto writing = foreign();
  CHECK(least_of_three([&] { CHECK_THROWS_AS(locks.acquire("k", {.wait = 100ms}), lock_timeout); }) < 2s + sluggish);
  CHECK(least_of_three([&] { CHECK_FALSE(locks.try_acquire("k")); }) < 2s + sluggish);
  CHECK(least_of_three([&] { CHECK_THROWS_AS(locks.force_release("theirs"), store_error); }) < 1s + sluggish);
  // Readers wait for nobody.
  CHECK(least_of_three([&] { CHECK(locks.holder("theirs")); }) < sluggish);
  CHECK(least_of_three([&] { CHECK(locks.held_keys().size() == 1); }) < sluggish);
}

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a connection can be made while somebody writes", "[sqlite]") {
  lock_service others("sqlite:" + path, options());
  const auto theirs = others.acquire("theirs");
  std::deque<lock_service> unconnected;
  for (int i = 0; i < 3; ++i) unconnected.emplace_back("sqlite:" + path, options());
  const auto writing = foreign();
  auto next = unconnected.begin();
  CHECK(least_of_three([&] { CHECK((next++)->holder("theirs")); }) < sluggish);
}

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a file that was replaced costs no single attempt", "[sqlite]") {
  lock_service locks("sqlite:" + path, options());
  locks.acquire("k").release();
  for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::rename(path + end, path + ".old" + end);
  { const lock_service makes_the_tables("sqlite:" + path, options()); }
  // Of another file than its session's; whether that is seen before or after is no matter.
  const auto held = locks.acquire("k", {.wait = 20s});
  CHECK(seen->count(event::kind::acquire_failed) == 0);
  CHECK(held.fencing_token() == 1);
  CHECK(locks.try_acquire("other"));
}

}  // namespace dlock::test
