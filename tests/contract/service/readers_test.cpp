// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does with shared locks. Of stores that have them.

#include <future>

#include "contract/service/service_contract.hpp"

namespace dlock::test {

namespace {

/// For somebody who holds nothing.
bool reads(process& by) {
  const owner_scope foreign;
  return granted(by.locks.try_acquire("k", {.mode = shared}));
}

}  // namespace

TEST_CASE_METHOD(service_fixture, "mode: readers and writers of several processes are never inside together") {
  readers_and_writers in;
  crowd_of(*this, 6, 12, [&](lock_service& locks, int who) {
    if (who >= 2) return in.read(locks);
    const auto held = locks.acquire("k", {.wait = 60s});
    if (++in.writers != 1 || in.readers != 0) ++in.wrong;
    --in.writers;
  });
  CHECK(in.wrong == 0);
  CHECK(eventually([&] { return !a.locks.holder("k"); }));
}

TEST_CASE_METHOD(service_fixture, "mode: several processes read, and a writer comes before and after them") {
  const auto before = fence_of(a.locks.acquire("k"));
  auto mine = a.locks.acquire("k", {.mode = shared});
  auto theirs = b.locks.acquire("k", {.mode = shared});
  CHECK(reads(a));
  CHECK(reads(b));
  CHECK_FALSE(is_free("k"));
  const auto token = std::max(fence_of(mine), fence_of(theirs));
  CHECK(std::min(fence_of(mine), fence_of(theirs)) >= before);
  mine.release();
  CHECK_FALSE(is_free("k"));
  theirs.release();
  const auto writing = b.locks.acquire("k");
  CHECK(fence_of(writing) > token);
  CHECK_FALSE(reads(a));
  CHECK_FALSE(reads(b));
}

TEST_CASE_METHOD(service_fixture, "mode: a caller that waits for the exclusive lock stops new readers, and gets it") {
  auto reading = a.locks.acquire("k", {.mode = shared});
  auto writer = std::async(std::launch::async, [&] { return b.locks.acquire("k", {.wait = 60s}); });
  REQUIRE(eventually([&] { return b.waits(); }));
  pass(50ms);  // the readers of one process share a grant that is young
  CHECK_FALSE(reads(a));
  CHECK_FALSE(reads(b));
  auto reader = std::async(std::launch::async, [&] { return a.locks.acquire("k", {.wait = 60s, .mode = shared}); });
  REQUIRE(eventually([&] { return a.waits(); }));
  reading.release();
  auto writing = writer.get();
  CHECK_FALSE(reads(a));
  CHECK(reader.wait_for(50ms) == std::future_status::timeout);
  writing.release();
  CHECK(granted(reader.get()));
}

TEST_CASE_METHOD(service_fixture, "mode: a caller that stops waiting for the exclusive lock lets readers in again") {
  const auto reading = a.locks.acquire("k", {.mode = shared});
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 200ms}); }) == errc::timed_out);
  CHECK(eventually([&] { return reads(b); }));
}

TEST_CASE_METHOD(service_fixture, "mode: of two writers that wait, one gives up, and readers wait for the other") {
  auto reading = a.locks.acquire("k", {.mode = shared});
  std::stop_source first_gives_up;
  const auto gives_up = [&](lock_service& locks) {
    return std::async(std::launch::async, [&] {
      return thrown([&] { return locks.acquire("k", {.wait = 60s, .cancel = first_gives_up.get_token()}); });
    });
  };
  const auto waits = [](lock_service& locks) {
    return std::async(std::launch::async, [&] { return locks.acquire("k", {.wait = 60s}); });
  };
  const bool late = GENERATE(false, true);  // the one that gives up has closed the key first, or last
  std::future<std::error_code> leaves;
  std::future<lease> stays;
  if (!late) leaves = gives_up(a.locks);
  if (!late) REQUIRE(eventually([&] { return a.waits(); }));
  stays = waits(b.locks);
  REQUIRE(eventually([&] { return b.waits(); }));
  if (late) leaves = gives_up(a.locks);
  if (late) REQUIRE(eventually([&] { return a.waits(); }));
  pass(50ms);  // the readers of one process share a grant that is young
  first_gives_up.request_stop();
  CHECK(leaves.get() == errc::cancelled);
  for (int i = 0; i != 20; ++i) CHECK_FALSE(reads(a));
  CHECK(stays.wait_for(0s) == std::future_status::timeout);
  reading.release();
  CHECK(granted(stays.get()));
}

TEST_CASE_METHOD(service_fixture, "mode: an owner that reads and asks for the exclusive lock would wait for itself") {
  const auto reading = a.locks.acquire("k", {.mode = shared});
  CHECK(a.locks.acquire("k", {.mode = shared}).reentered());
  CHECK_THROWS_AS(a.locks.acquire("k"), lock_deadlock);
  CHECK_THROWS_AS(a.locks.try_acquire("k"), lock_deadlock);
}

TEST_CASE_METHOD(service_fixture, "mode: operators see all readers and revoke them") {
  const auto mine = a.locks.acquire("k", {.ttl = 1s, .mode = shared});
  const auto theirs = b.locks.acquire("k", {.ttl = 1s, .mode = shared});
  const auto found = a.locks.holders("k");
  REQUIRE(found.size() == 2);
  CHECK(found[0].session != found[1].session);
  CHECK(a.locks.held_keys(10).size() == 2);
  CHECK(b.locks.force_release("k"));
  CHECK(eventually([&] { return mine.remaining() == 0us && theirs.remaining() == 0us; }));
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(service_fixture, "mode: several keys are read at once, or none") {
  const auto writing = b.locks.acquire("b");
  CHECK_FALSE(granted(a.locks.try_acquire_all({"a", "b", "c"}, {.mode = shared})));
  CHECK(is_free("a"));
  const auto reading = b.locks.acquire("c", {.mode = shared});
  const auto all = a.locks.acquire_all({"a", "c"}, {.mode = shared});
  CHECK_FALSE(is_free("a"));
  CHECK_FALSE(is_free("c"));
}

}  // namespace dlock::test
