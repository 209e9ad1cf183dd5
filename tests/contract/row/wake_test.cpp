// SPDX-License-Identifier: BSL-1.0

/// A release of a row that wakes a waiter of another process. Of stores with waiting::woken.

#include "contract/row/row_contract.hpp"
#include "contract/store/waiting_store.hpp"
#include "dlock/multi_lease.hpp"
#include "support/url_parameters.hpp"

namespace dlock::test {

namespace {

struct waiting_for_rows {
  explicit waiting_for_rows(row_renewal renewal = row_renewal::session) : s({.renewal = renewal}) {}

  bool waits(const lock_key& row, std::uint64_t count) {
    return eventually([&] { return other.waiters(row).count == count; });
  }

  row_scene s;
  lock_service other{s.fixture->url(), patient()}, mine{s.fixture->url(), patient()};
};

}  // namespace

TEST_CASE("row wake: a service is woken that would poll again in an hour") {
  waiting_for_rows at(GENERATE(row_renewal::session, row_renewal::column));
  const bool several = GENERATE(false, true);
  CAPTURE(several);
  const auto row = at.s.make(1), next = at.s.make(2);
  for (int i = 0; i != 3; ++i) {
    std::optional<lease> held = at.other.acquire(row);
    auto waits = std::async(std::launch::async, [&] {
      return several ? at.mine.acquire_all({next, row, "k"}).size() == 3 : granted(at.mine.acquire(row));
    });
    REQUIRE(at.waits(row, 1));
    CHECK(granted(at.other.try_acquire(next)));
    held.reset();
    CHECK(waits.get());
    REQUIRE(at.waits(row, 0));
  }
}

TEST_CASE("row wake: a batch of releases wakes a waiter of each row") {
  waiting_for_rows at;
  const auto row = at.s.make(1), next = at.s.make(2);
  lock_service third(at.s.fixture->url(), patient());
  auto held = at.other.acquire_all({row, next});
  auto one = std::async(std::launch::async, [&] { return granted(at.mine.acquire(row)); });
  auto two = std::async(std::launch::async, [&] { return granted(third.acquire(next)); });
  REQUIRE(at.waits(row, 1));
  REQUIRE(at.waits(next, 1));
  held.release();
  CHECK(one.get());
  CHECK(two.get());
}

TEST_CASE("row wake: a release that looks for a waiter is one statement where nobody waits") {
  row_scene s;
  row_actor holder(s);
  const auto row = s.make(1);
  auto release = holder.about(verb::release, row);
  release.fence = holder.acquire(row);
  release.nonce = holder.nonce;
  release.wake = true;
  const auto freed = holder.run(release);
  CHECK(answer(freed) == outcome::yes);
  CHECK(freed.waiters == 0);
  CHECK(freed.statements == 1);
  CHECK(s.owner(row).empty());
  CHECK(answer(holder.run(release)) == outcome::no);
}

TEST_CASE("row wake: the key of the same text is another lock") {
  waiting_for_rows at;
  const auto row = at.s.make(1);
  const lock_key alike(std::string(row.view()));
  std::optional<lease> held = at.other.acquire(row);
  auto waits = std::async(std::launch::async, [&] { return granted(at.mine.acquire(row)); });
  REQUIRE(at.waits(row, 1));
  at.other.acquire(alike).release();
  REQUIRE(at.waits(row, 1));
  held.reset();
  CHECK(waits.get());
}

TEST_CASE("row wake: a waiter polls as well, for nobody tells of a row that others have freed") {
  row_scene s;
  const auto row = s.make(1);
  auto options = patient();
  options.defaults.retry = {.pause = 1ms, .max_pause = 20ms};
  lock_service other(s.fixture->url(), options);
  lock_service mine(GENERATE(true, false) ? s.fixture->url() : with_parameters(s.fixture->url(), "wake=off"), options);
  auto held = other.acquire(row);
  auto waits = std::async(std::launch::async, [&] { return granted(mine.acquire(row)); });
  const auto before = mine.statements();
  REQUIRE(eventually([&] { return mine.statements() > before + 10; }));
  s.set(s.table->owner + " = NULL", row);
  CHECK(waits.get());
}

TEST_CASE("row wake: a wait for a row that ends in vain leaves its place") {
  waiting_for_rows at;
  const auto row = at.s.make(1);
  const auto held = at.other.acquire(row);
  std::stop_source cancel;
  auto waits = std::async(std::launch::async,
                          [&] { return thrown([&] { return at.mine.acquire(row, {.cancel = cancel.get_token()}); }); });
  REQUIRE(at.waits(row, 1));
  cancel.request_stop();
  CHECK(waits.get() == errc::cancelled);
  CHECK(at.waits(row, 0));
}

}  // namespace dlock::test
