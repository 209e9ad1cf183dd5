// SPDX-License-Identifier: BSL-1.0
// A server that stands still, and one that is restarted.
#include <fmt/format.h>

#include "process/taker.hpp"
#include "support/calls.hpp"
#include "support/mysql_fixture.hpp"
#include "support/own_server.hpp"
#include "support/test.hpp"

namespace dlock::test {

TEST_CASE("server: while it stands still, leases are lost in time, and nothing that ends waits for it", "[T89][T92]") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));  // skips the test where there is no MariaDB
  const own_server server;
  taker loser(server.url(), {"--key", "short", "--ttl", "1000"});
  taker dropper(server.url(), {"--key", "long", "--ttl", "30000", "--release-limit", "1000"});
  taker leaver(server.url(), {"--key", "left", "--ttl", "30000", "--release-limit", "1000"});
  const auto lost = loser.take();
  const auto dropped = dropper.take();
  leaver.take();

  server.stop();
  const auto stopped = boot_time();
  const auto notice = loser.expect("told");
  CHECK(notice.at(1) == "unreachable");
  // By 50 ms before the server's expiry of the last renewal, which was confirmed before it stood still.
  CHECK(std::stoll(notice.at(2)) <= stopped + 950'000 + 4'000'000);
  CHECK(loser.ask("check", "lost").at(1) == "unreachable");

  const auto took = dropper.ask("drop", "dropped");
  CHECK(std::stoll(took.at(1)) <= 1'000'000 + 3'500'000);  // release_limit, and a slow machine
  leaver.say("quit");
  CHECK(leaver.end(10s) == 0);

  server.go_on();
  CHECK(loser.take(20s).fence == lost.fence + 1);
  // Freed in the background long before the lease's 30 s are over.
  taker next(server.url(), {"--key", "long"});
  CHECK(next.take(15s).fence == dropped.fence + 1);
  CHECK(dropper.ask("check", "nothing").size() == 1);
}

TEST_CASE("server: a lease outlives a restart that is shorter than its ttl, also after a crash of the server",
          "[T13]") {
  static_cast<void>(mysql_setting("DLOCK_TEST_MYSQL_URL"));
  own_server server;
  taker holder(server.url(), {"--ttl", "15000"});
  const auto mine = holder.take();
  const auto renewals = [&] {
    return std::stoull(
        raw_mysql(server.url())
            .one(fmt::format(
                "SELECT s.beat FROM dlock_session s JOIN dlock_lock l ON l.session_id=s.id WHERE l.lock_key='key' AND "
                "l.fence={}",
                mine.fence)));
  };
  for (const bool orderly : {true, false}) {
    CAPTURE(orderly);
    const auto before = renewals();
    server.restart(orderly);
    CHECK(holder.ask("check", "trusted").size() == 2);
    REQUIRE(eventually([&] { return renewals() > before; }));
    CHECK(holder.ask("check", "trusted").size() == 2);
    CHECK_FALSE(holder.said("told"));
  }
  taker other(server.url());
  CHECK(other.ask("take 0", "busy").size() == 2);
  CHECK(holder.ask("release", "released").size() == 1);
  CHECK(other.take().fence == mine.fence + 1);
}

}  // namespace dlock::test
