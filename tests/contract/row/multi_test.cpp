// SPDX-License-Identifier: BSL-1.0

/// Several rows and keys at once, by whole services.

#include <optional>
#include <thread>

#include "contract/row/row_contract.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "support/calls.hpp"
#include "support/granted.hpp"

namespace dlock::test {

namespace {

struct rows_and_keys {
  row_scene s{};
  service_options options{.close_limit = 0ms, .cleanup_interval = 0ms};
  lock_service a{s.fixture->open(), options};
  lock_service b{s.fixture->open(), options};

  bool is_free(const lock_key& key) { return granted(b.try_acquire(key)); }
};

}  // namespace

TEST_CASE("row: rows and keys are locked together, and a text that reads like a row is another key",
          "[contract][rows][T76][T77]") {
  rows_and_keys at;
  const auto row = at.s.make(1);
  const auto other = at.s.make(2);
  const lock_key alike(std::string(row.view()));
  {
    const auto held = at.a.acquire_all({other, "k", row, alike, other});
    REQUIRE(held.size() == 4);
    CHECK(held[row].fencing_token() == at.s.number(at.s.table->fence, row));
    CHECK(held[alike].fencing_token() == 1);
    CHECK_FALSE(at.s.owner(other).empty());
    for (const auto& each : {row, other, alike, lock_key("k")}) CHECK_FALSE(at.is_free(each));
  }
  for (const auto& each : {row, other, alike, lock_key("k")}) CHECK(at.is_free(each));
  CHECK(at.s.owner(other).empty());
}

TEST_CASE("row: a busy row keeps keys and rows from being taken", "[contract][rows][T76]") {
  rows_and_keys at;
  const auto row = at.s.make(1);
  const auto other = at.s.make(2);
  auto theirs = at.b.acquire(other);
  CHECK_FALSE(at.a.try_acquire_all({row, other, "k"}));
  CHECK(at.is_free(row));
  CHECK(at.is_free("k"));
  multi_lease held;
  std::thread waiter([&] { held = at.a.acquire_all({row, other, "k"}, {.wait = 20s}); });
  theirs.release();
  waiter.join();
  REQUIRE(held.size() == 3);
  CHECK(held[other].fencing_token() == at.s.number(at.s.table->fence, other));
  held.release();
  CHECK(at.is_free(other));
}

TEST_CASE("row: one that does not exist is named, and nothing is held", "[contract][rows][T76]") {
  rows_and_keys at;
  const auto row = at.s.make(1);
  CHECK(thrown([&] { return at.a.acquire_all({row, "k", at.s.key({std::int64_t{7}})}); }) == errc::no_such_row);
  CHECK(at.is_free(row));
  CHECK(at.is_free("k"));
}

TEST_CASE("row: rows that renew their own expiry are locked together with keys kept by a session",
          "[contract][rows][T76]") {
  row_scene s({.renewal = row_renewal::column});
  lock_service a(s.fixture->open(), {.close_limit = 0ms, .cleanup_interval = 0ms});
  lock_service b(s.fixture->open(), {.close_limit = 0ms, .cleanup_interval = 0ms});
  const auto row = s.make(1);
  const auto other = s.make(2);
  {
    const auto held = a.acquire_all({row, other, "k"}, {.ttl = 10s});
    CHECK_NOTHROW(held.ensure_held());
    CHECK(held.remaining() > 5s);
    CHECK_FALSE(b.try_acquire_all({other, "other"}, {.ttl = 10s}));
    CHECK(b.try_acquire("other"));
  }
  CHECK(b.try_acquire_all({row, other, "k"}, {.ttl = 10s}));
}

}  // namespace dlock::test
