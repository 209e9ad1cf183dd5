// SPDX-License-Identifier: GPL-2.0-or-later

/// How long a service on an SQLite file waits while somebody else's transaction writes to it.

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

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
  std::unique_ptr<raw_sqlite> stranger() const {
    auto client = std::make_unique<raw_sqlite>(path);
    client->run("BEGIN IMMEDIATE");
    return client;
  }
  service_options options() const {
    return {.release_limit = 200ms, .close_limit = 0ms, .sweep_every = 0ms, .observer = seen};
  }

  scratch_folder folder{};
  const std::string path = folder / "locks.db";
  std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();
};

constexpr auto sluggish = 800ms;  // a busy machine; a statement's own limit would be a second

}  // namespace

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a release, a lease's end and a service's are bound by release_limit",
                 "[sqlite][T10][T89]") {
  std::optional<lock_service> locks;
  locks.emplace("sqlite:" + path, options());
  auto first = locks->acquire("first");
  auto second = locks->acquire("second");
  auto writing = stranger();
  CHECK(duration_of([&] { CHECK_THROWS_AS(first.release(), store_error); }) < 200ms + sluggish);
  CHECK(duration_of([&] { second = lease{}; }) < 200ms + sluggish);
  CHECK(seen->count(event::kind::release_failed) == 2);
  SECTION("while it goes on") {}
  SECTION("and what was not done is done later") {
    writing->run("COMMIT");
    lock_service others("sqlite:" + path, options());
    CHECK(others.acquire("first", {.wait = 20s}));
    CHECK(others.acquire("second", {.wait = 20s}));
  }
  CHECK(duration_of([&] { locks.reset(); }) < 200ms + sluggish);
}

TEST_CASE_METHOD(limits_fixture,
                 "sqlite limits: an acquire waits little longer than it was told, an operator one second", "[sqlite]") {
  lock_service locks("sqlite:" + path, options());
  lock_service others("sqlite:" + path, options());
  const auto theirs = others.acquire("theirs");
  { const auto makes_the_session = locks.acquire("k"); }
  const auto writing = stranger();
  CHECK(duration_of([&] { CHECK_THROWS_AS(locks.acquire("k", {.wait = 100ms}), lock_timeout); }) < 2s + sluggish);
  CHECK(duration_of([&] { CHECK_FALSE(locks.try_acquire("k")); }) < 2s + sluggish);
  CHECK(duration_of([&] { CHECK_THROWS_AS(locks.force_release("theirs"), store_error); }) < 1s + sluggish);
  // Readers wait for nobody.
  CHECK(duration_of([&] { CHECK(locks.holder("theirs")); }) < sluggish);
  CHECK(duration_of([&] { CHECK(locks.held_keys().size() == 1); }) < sluggish);
}

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a connection can be made while somebody writes", "[sqlite]") {
  lock_service others("sqlite:" + path, options());
  const auto theirs = others.acquire("theirs");
  lock_service locks("sqlite:" + path, options());
  const auto writing = stranger();
  CHECK(duration_of([&] { CHECK(locks.holder("theirs")); }) < sluggish);
}

TEST_CASE_METHOD(limits_fixture, "sqlite limits: a file that was replaced costs no single attempt", "[sqlite]") {
  lock_service locks("sqlite:" + path, options());
  locks.acquire("k").release();
  for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::rename(path + end, path + ".old" + end);
  { const lock_service makes_the_tables("sqlite:" + path, options()); }
  // Of another file than its session's; whether that is seen before or after is no matter.
  const auto held = locks.acquire("k", {.wait = 2s});
  CHECK(held.fencing_token() == 1);
  CHECK(locks.try_acquire("other"));
}

}  // namespace dlock::test
