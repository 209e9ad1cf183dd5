// SPDX-License-Identifier: BSL-1.0

/// The moments at which grants in an SQLite file end, to the microsecond, by a clock that goes by hand; and that the
/// time of day means nothing to them.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <vector>

#include "stores/sqlite/lock_rows.hpp"
#include "stores/sqlite/sqlite_machine.hpp"
#include "support/raw_sqlite.hpp"

using namespace dlock;
using namespace dlock::test;

namespace {

class timed_fixture final : public sqlite_machine_fixture {
 public:
  timed_fixture() { machine->set(microseconds{1h}.count()); }
  std::int64_t now() const { return machine->now(); }
  std::int64_t number(const std::string& sql) { return std::stoll(raw_sqlite(path).text(sql)); }

  const lock_key order = lock_key::of_row(make_lock_table(path, "orders", 1), {std::int64_t{1}});
  const lock_key job = lock_key::of_row(make_lock_table(path, "jobs", 1, row_renewal::column), {std::int64_t{1}});
};

}  // namespace

TEST_CASE("sqlite time: a key with an expiry of its own is free from that microsecond on, not before",
          "[unit][sqlite][T30]") {
  timed_fixture fixture;
  actor a(fixture), b(fixture), c(fixture);
  const auto fence = a.acquire("k", 10s);
  fixture.pass(10s - 1us);
  const seen last = b.at("k");
  CHECK_FALSE(last.expired);
  CHECK(last.remaining == 1us);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(b.take_over("k", last)) == outcome::no);
  fixture.pass(1us);
  CHECK(b.at("k").expired);
  CHECK(answer(a.extend("k", fence, 10s)) == outcome::no);
  const auto by_take = GENERATE(true, false);
  const reply granted = by_take ? b.take("k") : b.take_over("k", last);
  CHECK(answer(granted) == outcome::yes);
  CHECK(granted.fence == fence + 1);
}

TEST_CASE("sqlite time: an own expiry can be extended until its last microsecond", "[unit][sqlite][T30]") {
  timed_fixture fixture;
  actor a(fixture), b(fixture);
  const auto fence = a.acquire("k", 10s);
  fixture.pass(10s - 1us);
  CHECK(answer(a.extend("k", fence, 10s)) == outcome::yes);
  CHECK(b.at("k").remaining == 10s);
  CHECK(answer(b.take("k")) == outcome::no);
}

TEST_CASE("sqlite time: min_hold ends when it says, counted from the grant", "[unit][sqlite][T30]") {
  timed_fixture fixture;
  actor a(fixture), b(fixture);
  const auto fence = a.acquire("k");
  fixture.pass(4s);
  REQUIRE(answer(a.release("k", fence, 10s)) == outcome::yes);
  fixture.pass(6s - 1us);
  CHECK(answer(b.take("k")) == outcome::no);
  fixture.pass(1us);
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE("sqlite time: a session lives until its expiry and can be killed from then on, not before",
          "[unit][sqlite][T30]") {
  timed_fixture fixture;
  actor a(fixture, 10s), b(fixture);
  const auto fence = a.acquire("k");
  fixture.pass(10s - 1us);
  CHECK_FALSE(b.at("k").expired);
  CHECK(b.kill(a.id) == outcome::no);
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::no);
  if (GENERATE(true, false)) {
    CHECK(a.renew(10s) == outcome::yes);
    fixture.pass(10s);
  } else {
    fixture.pass(1us);
  }
  CHECK(a.renew(10s) == outcome::no);
  CHECK(b.at("k").expired);
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::no);  // not while its row is there
  CHECK(b.kill(a.id) == outcome::yes);
  const reply granted = b.take_over("k", b.at("k"));
  CHECK(answer(granted) == outcome::yes);
  CHECK(granted.fence == fence + 1);
}

TEST_CASE("sqlite time: a row with an expiry of its own is free from that microsecond on, not before",
          "[unit][sqlite][T30]") {
  timed_fixture fixture;
  actor a(fixture), b(fixture);
  REQUIRE(answer(run(a, verb::take, fixture.order, 10s)) == outcome::yes);
  fixture.pass(10s - 1us);
  const seen last = run(b, verb::poll, fixture.order).holder;
  CHECK(last.remaining == 1us);
  CHECK(answer(run(b, verb::take, fixture.order)) == outcome::no);
  CHECK(answer(run(b, verb::take_over, fixture.order, 0us, last)) == outcome::no);
  fixture.pass(1us);
  CHECK(answer(run(a, verb::extend, fixture.order, 10s)) == outcome::no);
  const auto action = GENERATE(verb::take, verb::take_over);
  CHECK(answer(run(b, action, fixture.order, 0us, last)) == outcome::yes);
}

TEST_CASE("sqlite time: a row whose expiry is further off than any lease may be is free", "[unit][sqlite]") {
  timed_fixture fixture;
  actor a(fixture), b(fixture);
  REQUIRE(answer(run(a, verb::take, fixture.order, 10s)) == outcome::yes);
  const auto month = 24h * 31;
  const auto set_to = [&](std::chrono::microseconds ahead) {
    raw_sqlite(fixture.path).run("UPDATE orders SET e = e + " + std::to_string(ahead.count()));
  };
  set_to(month - 10s);
  CHECK_FALSE(run(b, verb::poll, fixture.order).holder.expired);
  CHECK(answer(run(b, verb::take, fixture.order, 10s)) == outcome::no);
  set_to(1us);  // as by another clock, or by a mistake
  CHECK(run(b, verb::poll, fixture.order).holder.expired);
  CHECK(answer(run(b, verb::take, fixture.order, 10s)) == outcome::yes);
}

TEST_CASE("sqlite time: a row that is renewed by its column is free in the second after its expiry, not before",
          "[unit][sqlite][T30]") {
  timed_fixture fixture;
  constexpr std::int64_t second = 1'000'000, noon = 1'700'000'000 * second;
  fixture.machine->set_wall_clock(noon);
  actor a(fixture), b(fixture);
  REQUIRE(answer(run(a, verb::take, fixture.job, 10s)) == outcome::yes);
  fixture.machine->set_wall_clock(noon + 11 * second - 1);  // other programs compare whole seconds, by '<'
  const seen last = run(b, verb::poll, fixture.job).holder;
  CHECK_FALSE(last.expired);
  CHECK(last.remaining == 1us);
  CHECK(answer(run(b, verb::take, fixture.job, 10s)) == outcome::no);
  CHECK(answer(run(b, verb::take_over, fixture.job, 10s, last)) == outcome::no);
  fixture.machine->set_wall_clock(noon + 11 * second);
  CHECK(run(b, verb::poll, fixture.job).holder.expired);
  CHECK(answer(run(a, verb::extend, fixture.job, 10s)) == outcome::no);
  const auto action = GENERATE(verb::take, verb::take_over);
  CHECK(answer(run(b, action, fixture.job, 10s, last)) == outcome::yes);
}

TEST_CASE("sqlite time: every expiry is now plus its ttl by the clock of the boot, whatever the time of day",
          "[unit][sqlite][T23]") {
  timed_fixture fixture;
  const std::string sessions = "SELECT expires_at_us FROM dlock_session WHERE label = 'mine'";
  const std::string locks = "SELECT expires_at_us FROM dlock_lock";
  fixture.machine->set_wall_clock(1'700'000'000'000'000);
  actor a(fixture, 10s, "mine");
  CHECK(fixture.number(sessions) == fixture.now() + 10'000'000);
  const auto fence = a.acquire("k", 20s);
  CHECK(fixture.number(locks) == fixture.now() + 20'000'000);
  REQUIRE(answer(run(a, verb::take, fixture.order, 30s)) == outcome::yes);
  const std::int64_t epoch = 1'700'000'000'000'000 - fixture.now();  // until the next boot

  for (const std::int64_t shift : std::vector<std::int64_t>{600000000, -600000000, -1700000000000000}) {
    INFO("the wall clock is set by " << shift);
    fixture.machine->set_wall_clock(1'700'000'000'000'000 + shift);
    fixture.pass(3s);
    CHECK(a.renew(10s) == outcome::yes);
    CHECK(fixture.number(sessions) == fixture.now() + 10'000'000);
    REQUIRE(answer(a.extend("k", fence, 20s)) == outcome::yes);
    CHECK(fixture.number(locks) == fixture.now() + 20'000'000);
    REQUIRE(answer(run(a, verb::extend, fixture.order, 30s)) == outcome::yes);
    CHECK(fixture.number("SELECT e FROM orders") == fixture.now() + epoch + 30'000'000);
    // Who comes now, with another idea of the time of day, judges the same.
    actor b(fixture);
    CHECK(b.at("k").remaining == 20s);
    CHECK(run(b, verb::poll, fixture.order).holder.remaining == 30s);
    CHECK(answer(b.take("k")) == outcome::no);
    CHECK(b.kill(a.id) == outcome::no);
    CHECK(answer(run(b, verb::take, fixture.order)) == outcome::no);
  }
  fixture.pass(10s);
  actor b(fixture);
  CHECK(b.kill(a.id) == outcome::yes);
}
