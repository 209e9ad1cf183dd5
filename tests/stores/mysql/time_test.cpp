// SPDX-License-Identifier: BSL-1.0

/// The expression that is the time of every statement.

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "contract/backends/mysql/fixtures.hpp"
#include "floor_entity-odb-mysql.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "session_entity-odb-mysql.hxx"
#include "stores/mysql/client/connection.hpp"
#include "stores/mysql/lease_table/sql.hpp"

namespace dlock::test {

namespace {

/// A time zone of the server's in which an hour comes twice: local time goes back from 02:00 to 01:00 at 2026-10-25
/// 01:00 UTC. Gone at the end.
class summer_time {
 public:
  summer_time() {
    root_.run("INSERT INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (4711, 'N')");
    root_.run("INSERT INTO mysql.time_zone_name VALUES ('dlock/summer', 4711)");
    root_.run("INSERT INTO mysql.time_zone_transition_type VALUES (4711, 0, 3600, 1, 'DST'), (4711, 1, 0, 0, 'STD')");
    root_.run(
        "INSERT INTO mysql.time_zone_transition VALUES (4711, -1, 1), (4711, 1774746000, 0), (4711, 1792890000, 1)");
  }
  ~summer_time() {
    root_.run("DELETE FROM mysql.time_zone_name WHERE Time_zone_id=4711");
    for (const char* table : {"time_zone", "time_zone_transition_type", "time_zone_transition"}) {
      root_.run(std::string("DELETE FROM mysql.") + table + " WHERE Time_zone_id=4711");
    }
  }
  summer_time(const summer_time&) = delete;
  summer_time& operator=(const summer_time&) = delete;

 private:
  raw_mysql root_ = raw_mysql::root();
};

}  // namespace

TEST_CASE("mysql time: microseconds since 1970 UTC in every zone, also where a local clock jumps",
          "[mysql][T26][T27]") {
  raw_mysql raw(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  const stores::mysql::lease_table::lease_sql sql(stores::sql::make_table_names<odb::id_mysql>("dlock_", '`'));
  const auto now = sql.names().expand("SELECT {now}");
  // Half an hour before, at, and half an hour after both changes of a year in Europe: 2026-03-29 and 2026-10-25,
  // 01:00 UTC.
  const summer_time twice;
  raw.run("SET time_zone='dlock/summer'");
  raw.run("SET timestamp=1792888200");
  const auto summer = raw.one("SELECT NOW()");
  raw.run("SET timestamp=1792891800");
  REQUIRE(raw.one("SELECT NOW()") == summer);  // an hour later, and the clock on the wall says the same
  for (const long long second :
       {1774744200LL, 1774746000LL, 1774747800LL, 1792888200LL, 1792890000LL, 1792891800LL, 2147483646LL}) {
    for (const char* const zone : {"SYSTEM", "+00:00", "+01:00", "+02:00", "-11:30", "+13:00", "dlock/summer"}) {
      INFO(second << " in " << zone);
      raw.run(std::string("SET time_zone='") + zone + "'");
      raw.run("SET timestamp=" + std::to_string(second) + ".000001");
      CHECK(raw.one(now) == std::to_string(second) + "000001");
    }
  }
}

TEST_CASE("mysql time: every time is the server's, whatever the clock of this machine says", "[mysql][T23]") {
  mysql_store_fixture fixture;
  actor a(fixture, 60s);
  // The server's clock, as this connection has it, stands years from now.
  constexpr std::int64_t now = 2'000'000'000'000'001;
  fault why;
  auto& native = static_cast<stores::mysql::mysql_connection&>(*a.connection);
  REQUIRE(native.query("SET timestamp=2000000000.000001", "", nullptr, nullptr, why) == outcome::yes);
  auto root = raw_mysql::root();
  const auto number = [&](const std::string& column, const std::string& table) {
    return std::stoll(root.one("SELECT " + column + " FROM " + fixture.tables.table(table)));
  };
  root.run("UPDATE " + fixture.tables.table("session") + " SET expires_at_us=" + std::to_string(now + 1));
  CHECK(a.renew(60s) == outcome::yes);
  CHECK(number("expires_at_us", "session") == now + 60'000'000);
  CHECK(a.kill(a.id) == outcome::no);
  CHECK(answer(a.insert("k", 10s)) == outcome::yes);
  CHECK(number("acquired_at_us", "lock") == now);
  CHECK(number("expires_at_us", "lock") == now + 10'000'000);
  CHECK(a.at("k").remaining == 10s);
  CHECK(answer(a.extend("k", 1, 20s)) == outcome::yes);
  CHECK(number("expires_at_us", "lock") == now + 20'000'000);
  CHECK(answer(a.release("k", 1, 30s)) == outcome::yes);  // min_hold
  CHECK(number("expires_at_us", "lock") == now + 30'000'000);
  CHECK(answer(a.take("k")) == outcome::no);
  // The very microsecond in which it ends is the first in which it may be given away.
  const auto end_at = [&](std::int64_t when) {
    root.run("UPDATE " + fixture.tables.table("lock") + " SET expires_at_us=" + std::to_string(when));
  };
  end_at(now + 1);
  CHECK(answer(a.take("k")) == outcome::no);
  const seen before = a.at("k");
  CHECK(before.remaining == 1us);
  CHECK(answer(a.take_over("k", before)) == outcome::no);
  end_at(now);
  CHECK(answer(a.take("k", 5s)) == outcome::yes);
  CHECK(number("expires_at_us", "lock") == now + 5'000'000);
  end_at(now);
  CHECK(answer(a.take_over("k", a.at("k"))) == outcome::yes);
  const std::string second = "l";
  REQUIRE(answer(a.insert(second, 1s)) == outcome::yes);
  REQUIRE(answer(a.release("k", a.at("k").fence)) == outcome::yes);
  end_at(now + 1);
  const std::array<request, 2> asked{request{.action = verb::take, .resource = "k", .session = a.id, .nonce = 70},
                                     request{.action = verb::take, .resource = second, .session = a.id, .nonce = 71}};
  std::array<reply, 2> replies;
  a.store->execute(*a.connection, asked, replies);
  CHECK(replies[0].result == outcome::yes);
  CHECK(replies[1].result == outcome::no);
  root.run("UPDATE " + fixture.tables.table("session") + " SET expires_at_us=" + std::to_string(now + 1));
  CHECK(a.kill(a.id) == outcome::no);
  root.run("UPDATE " + fixture.tables.table("session") + " SET expires_at_us=" + std::to_string(now));
  CHECK(a.renew(60s) == outcome::no);
  CHECK(a.kill(a.id) == outcome::yes);
  const auto id = id128::random();
  CHECK(answer(a.store->session(*a.connection, session_verb::open, {.id = id, .ttl = 60s})) == outcome::yes);
  CHECK(number("expires_at_us", "session") == now + 60'000'000);
}

}  // namespace dlock::test
