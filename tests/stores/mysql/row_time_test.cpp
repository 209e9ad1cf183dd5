// SPDX-License-Identifier: BSL-1.0

/// The moment in which a row's lock ends, on a server whose clock stands still for us.

#include <fmt/format.h>

#include "contract/backends/mysql/fixtures.hpp"
#include "stores/mysql/client/connection.hpp"

namespace dlock::test {

namespace {

void stop_clock(row_actor& actor, const std::string& at) {
  fault why;
  auto& native = static_cast<stores::mysql::mysql_connection&>(*actor.connection);
  REQUIRE(native.query("SET timestamp=" + at, "", nullptr, nullptr, why) == outcome::yes);
}

}  // namespace

TEST_CASE("mysql rows: a lock with an expiry is given away at that microsecond and not before", "[mysql][rows][T30]") {
  constexpr std::int64_t now = 2'000'000'000'000'001;
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  stop_clock(a, "2000000000.000001");
  stop_clock(b, "2000000000.000001");
  const auto end_at = [&](std::int64_t when) { s.set(fmt::format("lock_expires_at_us={}", when), row); };
  const auto fence = a.acquire(row, 10s);
  CHECK(s.number("lock_expires_at_us", row) == now + 10'000'000);
  CHECK(answer(a.extend(row, fence, 20s)) == outcome::yes);
  CHECK(s.number("lock_expires_at_us", row) == now + 20'000'000);
  end_at(now + 1);
  CHECK(answer(b.take(row)) == outcome::no);
  CHECK(answer(b.take_over(row, b.at(row))) == outcome::no);
  CHECK(answer(a.extend(row, fence, 20s)) == outcome::yes);
  end_at(now);
  CHECK(answer(a.extend(row, fence, 20s)) == outcome::no);
  CHECK(answer(b.take(row, 5s)) == outcome::yes);
  CHECK(s.number("lock_expires_at_us", row) == now + 5'000'000);
  end_at(now);
  CHECK(answer(a.take_over(row, a.at(row))) == outcome::yes);
}

TEST_CASE("mysql rows: a lock that a column keeps is given away in the second after it, as others do",
          "[mysql][rows][T30]") {
  row_scene s({.renewal = row_renewal::column});
  row_actor a(s), b(s);
  const auto row = s.make(1);
  stop_clock(a, "2000000000.9");
  stop_clock(b, "2000000000.9");
  s.app->run("SET timestamp=2000000000.9");
  const auto end_in = [&](int seconds) {
    s.set(fmt::format("lock_expire_time=now()+INTERVAL {} SECOND", seconds), row);
  };
  end_in(-10);
  const auto fence = a.acquire(row, 10s);
  CHECK(s.number("UNIX_TIMESTAMP(lock_expire_time)", row) == 2000000011);
  end_in(0);
  CHECK(answer(b.take(row, 10s)) == outcome::no);
  CHECK(answer(b.take_over(row, b.at(row), 10s)) == outcome::no);
  CHECK(answer(a.extend(row, fence, 10s)) == outcome::yes);
  end_in(-1);
  CHECK(answer(a.extend(row, fence, 10s)) == outcome::no);
  CHECK(answer(b.take_over(row, b.at(row), 10s)) == outcome::yes);
  end_in(-1);
  CHECK(answer(a.take(row, 10s)) == outcome::yes);
}

}  // namespace dlock::test
