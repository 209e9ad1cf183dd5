// SPDX-License-Identifier: BSL-1.0

/// What the SQLite store makes of boots: containers of one kernel that are told different ids, and what is left after a
/// reboot.

#include <dlock/detail/odb_compat.hpp>
//
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "stores/sqlite/lock_rows.hpp"
#include "stores/sqlite/sqlite_machine.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch_folder.hpp"

using namespace dlock;
using namespace dlock::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

using machine_ptr = std::shared_ptr<sqlite_machine>;

constexpr std::int64_t at(microseconds time) { return time.count(); }

/// A file with the table `orders`; stores on it take `machine` for theirs.
class one_file final : public sqlite_machine_fixture {
 public:
  one_file() : sqlite_machine_fixture("first") {}
  /// The machine boots, and its clock shows `time` when it is seen for the first time.
  void boot(std::string id, microseconds time) {
    machine = std::make_shared<sqlite_machine>(std::move(id));
    machine->set(at(time));
  }
  lock_key order(std::int64_t id) const { return lock_key::of_row(orders_, {id}); }

 private:
  const std::shared_ptr<const row_table> orders_ = make_lock_table(path, "orders", 2);
};

}  // namespace

TEST_CASE("sqlite boot: containers of one kernel with different boot ids never have two trusted leases",
          "[unit][sqlite]") {
  scratch_folder folder;
  const auto url = "sqlite:" + (folder / "locks.db");
  const auto in_container = [&](const char* boot) { return open_on(url, std::make_shared<sqlite_machine>(boot)); };
  lock_service first(in_container("one"));
  const auto kept = first.acquire("kept", {.ttl = 60s});
  const auto own = first.acquire("own", {.ttl = 60s, .renewal = renewal::none});
  const auto long_own = first.acquire("long own", {.ttl = 240h, .renewal = renewal::none});
  lock_service second(in_container("two")), third(in_container("three"));
  for (lock_service* const other : {&second, &third}) {
    for (const char* key : {"kept", "own", "long own"}) {
      INFO(key);
      CHECK_FALSE(other->try_acquire(key));
      CHECK(other->holder(key)->pid != 0);
    }
  }
  for (const lease* const held : {&kept, &own, &long_own}) CHECK_NOTHROW(held->ensure_held());
  CHECK(second.acquire("another"));
}

TEST_CASE("sqlite boot: a container with another boot id changes nothing that is alive", "[unit][sqlite]") {
  one_file fixture;
  fixture.boot("one", 100h);
  actor kept(fixture, 30s), own(fixture), gone(fixture);
  const auto fence = kept.acquire("kept");
  own.acquire("own", 1h);
  gone.acquire("gone", 1h);
  REQUIRE(answer(kept.release("held on", kept.acquire("held on"), 1h)) == outcome::yes);
  REQUIRE(answer(run(kept, verb::take, fixture.order(1))) == outcome::yes);
  REQUIRE(answer(run(kept, verb::take, fixture.order(2), 1h)) == outcome::yes);
  gone.close();
  raw_sqlite raw(fixture.path);
  const auto all = [&] {
    return raw.column("SELECT lock_key || hex(session_id) || expires_at_us || acquired_at_us FROM dlock_lock");
  };
  const auto before = all();
  const auto epoch = raw.text("SELECT fence FROM dlock_floor WHERE id = 3");

  fixture.machine->pass(29s);
  const auto now = fixture.machine->now();
  fixture.boot("two", microseconds{now});
  actor other(fixture);
  CHECK(all() == before);
  CHECK(raw.text("SELECT fence FROM dlock_floor WHERE id = 3") == epoch);  // rows would shift their expiries
  for (const char* key : {"kept", "own", "gone", "held on"}) {
    INFO(key);
    CHECK(answer(other.take(key)) == outcome::no);
    CHECK(answer(other.take_over(key, other.at(key))) == outcome::no);
  }
  CHECK(other.kill(kept.id) == outcome::no);
  for (const std::int64_t id : {1, 2}) {
    CHECK(answer(run(other, verb::take, fixture.order(id))) == outcome::no);
    CHECK_FALSE(run(other, verb::poll, fixture.order(id)).holder.expired);
  }
  CHECK(answer(other.store->admin()->cleanup(*other.connection, 1us, 100)) == outcome::yes);
  CHECK(all() == before);
  // The clock of the kernel ends it like any other.
  fixture.machine->pass(2s);
  CHECK(other.kill(kept.id) == outcome::yes);
  CHECK(answer(other.take_over("kept", other.at("kept"))) == outcome::yes);
  CHECK(other.at("kept").fence == fence + 1);
}

TEST_CASE("sqlite boot: a renewal in the middle of another container's start is not taken for a time to come",
          "[unit][sqlite]") {
  one_file fixture;
  fixture.boot("one", 1h);
  actor a(fixture, 30s);
  a.acquire("own", 1h);
  const auto first = fixture.machine;
  fixture.boot("two", 1h);
  const auto second = fixture.machine;
  int asked = 0;
  second->before_now = [&] {
    ++asked;
    if (asked == 1) {  // it looks, by the time of now, at what is written after that
      first->pass(1ms);
      CHECK(a.renew(30s) == outcome::yes);
    } else {
      second->set(first->now());
    }
  };
  const auto store = open_on("sqlite:" + fixture.path, second);
  store->prepare();
  second->before_now = {};
  REQUIRE(asked > 1);
  CHECK(a.at("own").holder == a.id);
  CHECK(a.renew(30s) == outcome::yes);
}

TEST_CASE("sqlite boot: whoever is told no boot id is refused", "[unit][sqlite]") {
  scratch_folder folder;
  const auto store = open_on("sqlite:" + (folder / "l.db"), std::make_shared<sqlite_machine>(""));
  CHECK_THROWS_MATCHES(store->prepare(), store_error, MessageMatches(ContainsSubstring("boot_id")));
}

TEST_CASE("sqlite boot: a clock that a time namespace shifts is refused", "[unit][sqlite]") {
  const auto shifted = [](const char* text) {
    std::istringstream offsets(text);
    return stores::sqlite::has_shifted_boot_clock(offsets);
  };
  CHECK_FALSE(shifted(""));  // a kernel without time namespaces has no such file
  CHECK_FALSE(shifted("monotonic           0         0\nboottime            0         0\n"));
  CHECK_FALSE(shifted("monotonic         100         5\nboottime            0         0\n"));  // not our clock
  CHECK(shifted("monotonic           0         0\nboottime        86400         0\n"));
  CHECK(shifted("monotonic           0         0\nboottime           -1         0\n"));
  CHECK(shifted("boottime            0  60000000\nmonotonic           0         0\n"));

  scratch_folder folder;
  const auto machine = std::make_shared<sqlite_machine>("one");
  machine->shifted = true;
  const auto store = open_on("sqlite:" + (folder / "l.db"), machine);
  CHECK_THROWS_MATCHES(store->prepare(), store_error, MessageMatches(ContainsSubstring("time namespace")));
}

TEST_CASE("sqlite boot: after a reboot whatever was held is free at once", "[unit][sqlite]") {
  one_file fixture;
  fixture.boot("one", 1h);
  raw_sqlite raw(fixture.path);
  std::uint64_t fence = 0;
  {
    actor kept(fixture), own(fixture), gone(fixture), revoked(fixture);
    fence = kept.acquire("kept");
    gone.acquire("gone", 720h);
    gone.close();
    const auto by_hand = own.acquire("by hand", 1h);
    REQUIRE(answer(kept.release("held on", kept.acquire("held on"), 1h)) == outcome::yes);
    revoked.acquire("revoked");
    REQUIRE(answer(own.store->admin()->revoke(*own.connection, {.resource = "revoked"})) == outcome::yes);
    for (int hour = 0; hour < 240; ++hour) {
      fixture.machine->pass(30min);
      REQUIRE(answer(own.extend("by hand", by_hand, 1h)) == outcome::yes);
      for (actor* const each : {&kept, &own, &revoked}) each->renew(1h);
    }
    REQUIRE(answer(run(kept, verb::take, fixture.order(1))) == outcome::yes);
  }
  // Long before the time of those grants, between it and the end of the other boot, or just before that.
  fixture.boot("two", GENERATE(microseconds{30s}, microseconds{2h}, 121h - 1us));
  actor next(fixture);
  for (const char* key : {"kept", "by hand", "held on", "revoked", "gone"}) {
    INFO(key);
    CHECK(answer(next.take(key)) == outcome::yes);
  }
  CHECK(next.at("kept").fence == fence + 1);
  const seen row = run(next, verb::poll, fixture.order(1)).holder;
  CHECK(row.gone);
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_session") == "1");
  // Times of another boot would keep clean-up away from these keys for ever.
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock WHERE acquired_at_us > " + std::to_string(fixture.machine->now())) ==
        "0");
}

TEST_CASE(
    "sqlite boot: a clock that is past what another boot wrote proves nothing, and keys are free within their ttl",
    "[unit][sqlite]") {
  one_file fixture;
  fixture.boot("one", 1h);
  actor kept(fixture, 30s), own(fixture);
  kept.acquire("kept");
  own.acquire("own", 20s);
  fixture.boot("two", 1h + 1s);
  actor next(fixture);
  for (const char* key : {"kept", "own"}) {
    CHECK_FALSE(next.at(key).expired);  // as if it were a container of the same kernel
    CHECK(next.at(key).remaining < 30s);
  }
  fixture.machine->pass(30s);
  CHECK(answer(next.take("own")) == outcome::yes);
  CHECK(next.kill(kept.id) == outcome::yes);
  CHECK(answer(next.take_over("kept", next.at("kept"))) == outcome::yes);
}

TEST_CASE("sqlite boot: a file without sessions tells a reboot too, so the expiries of rows stay what they were",
          "[unit][sqlite]") {
  one_file fixture;
  fixture.boot("one", 200h);
  actor a(fixture);
  fixture.machine->pass(1min);
  REQUIRE(answer(run(a, verb::take, fixture.order(1), 1h)) == outcome::yes);
  REQUIRE(a.close() == outcome::yes);
  CHECK(a.close() == outcome::no);
  fixture.boot("two", 200h + 59s);
  actor next(fixture);
  const seen now = run(next, verb::poll, fixture.order(1)).holder;
  // By the wall clock it was granted just now, and a minute later by the clock of the test.
  CHECK(now.remaining <= 1h + 1min);
  CHECK(now.remaining > 1h + 30s);
}

TEST_CASE("sqlite boot: whoever opens the file while it is busy finds what a reboot left once it is not",
          "[unit][sqlite]") {
  one_file fixture;
  fixture.boot("one", 100h);
  actor a(fixture);
  a.acquire("k");
  fixture.boot("two", 1min);
  raw_sqlite foreign(fixture.path);
  foreign.run("BEGIN IMMEDIATE");
  const auto store = open_on("sqlite:" + fixture.path + "?busy_timeout=20", fixture.machine);
  CHECK_THROWS_MATCHES(store->prepare(), store_error, MessageMatches(ContainsSubstring("kept writing")));
  foreign.run("ROLLBACK");
  actor next(fixture);
  CHECK(answer(next.take("k")) == outcome::yes);
}
