// SPDX-License-Identifier: BSL-1.0

/// Three servers.

#include "dlock/lock_service.hpp"
#include "stores/zookeeper/zookeeper_fixtures.hpp"

namespace dlock::test {

TEST_CASE(
    "zookeeper: a lock that is held and waited for outlives the death of the leader, in order and with its fences",
    "[T62]") {
  zookeeper_ensemble servers(3);
  lock_service a(servers.url(), {.defaults = {.ttl = 15s}}), b(servers.url(), {.defaults = {.ttl = 15s}});
  lease held = a.acquire("k");
  const auto fence = held.fencing_token();
  auto waiting = std::async(std::launch::async, [&] { return b.acquire("k", {.wait = 90s}).fencing_token(); });
  CHECK(eventually([&] { return b.statements() >= 4; }));
  const auto leader = servers.leader();
  servers[leader].kill();
  const auto next = servers.leader();
  CHECK(next != leader);
  REQUIRE(renewed(held));  // by the new leader
  CHECK_NOTHROW(held.ensure_held());
  CHECK(waiting.wait_for(0ms) == std::future_status::timeout);
  held.release();
  CHECK(waiting.get() > fence);
  const lease again = a.acquire("k", {.wait = 20s});
  CHECK(again.fencing_token() > fence);
}

TEST_CASE("zookeeper: a server that is cut off from the leader confirms no renewal", "[T13]") {
  zookeeper_ensemble servers(3);
  const auto leader = servers.leader();
  zookeeper_fixture fixture(servers[(leader + 1) % servers.size()].url("statement_timeout=2000"));
  actor a(fixture);
  REQUIRE(a.renew(for_long) == outcome::yes);
  servers[leader].stop();  // the others notice that after ten seconds
  CHECK(a.store->session(*a.connection, session_verb::renew, {.id = a.id, .ttl = for_long}).result != outcome::yes);
  servers[leader].go_on();
}

}  // namespace dlock::test
