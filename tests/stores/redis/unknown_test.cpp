// SPDX-License-Identifier: BSL-1.0

/// Servers that fall silent in mid-statement, connections that break.

#include "stores/redis/redis_fixtures.hpp"

namespace dlock::test {

TEST_CASE("redis unknown: a grant without an answer is unknown, and once its connection is ended it can be cancelled") {
  redis_server server;
  url_fixture impatient(server.url("&fences=count&statement_timeout=2000")), fixture(server.url("&fences=count"));
  actor a(impatient), b(fixture);
  const auto lost = a.connection->identity();
  server.stop();
  const reply silent = a.insert("k");
  CHECK(silent.result == outcome::unknown);
  CHECK(silent.why.connection);
  CHECK_FALSE(a.connection->usable());
  CHECK_FALSE(a.connection->alive());
  server.go_on();  // what was sent is done only now
  fault why;
  REQUIRE(eventually([&] { return (b.connection = b.store->connect(5s, why)) != nullptr; }));
  REQUIRE(b.store->terminate(*b.connection, lost));
  a.connection = b.store->connect(5s, why);
  REQUIRE(a.connection != nullptr);
  a.cancel("k", a.nonce);
  const reply now = b.poll("k");
  CHECK((now.result == outcome::absent || !now.holder.holder));
  CHECK(b.acquire("k") >= 1);
}

TEST_CASE("redis unknown: an interrupted statement returns at once, from any thread") {
  redis_server server;
  url_fixture fixture(server.url("&statement_timeout=60000"));
  auto last = outcome::failed;
  for (int i = 0; i < 10 && last != outcome::unknown; ++i) {  // one that was not sent yet has certainly failed
    actor a(fixture);
    server.stop();
    auto poll = std::async(std::launch::async, [&] { return a.poll("k"); });
    CHECK(poll.wait_for(50ms * (1 << i / 2)) == std::future_status::timeout);
    a.connection->interrupt();
    CHECK(poll.wait_for(20s) == std::future_status::ready);
    last = poll.get().result;
    server.go_on();
  }
  CHECK(last == outcome::unknown);
}

TEST_CASE("redis unknown: a connection that its server has closed is seen before it is used") {
  redis_server server;
  url_fixture fixture(server.url());
  actor a(fixture), b(fixture);
  CHECK(a.connection->alive());
  REQUIRE(b.store->terminate(*b.connection, a.connection->identity()));
  CHECK(eventually([&] { return !a.connection->alive(); }));
  CHECK(b.connection->alive());
  CHECK(b.store->terminate(*b.connection, a.connection->identity()));  // not there any more: certain too
}

TEST_CASE("redis unknown: what runs on another server can't be ended") {
  redis_server server, other;
  url_fixture fixture(server.url()), elsewhere(other.url());
  actor a(fixture), b(elsewhere);
  CHECK_FALSE(b.store->terminate(*b.connection, a.connection->identity()));
}

TEST_CASE("redis unknown: connecting to a silent server ends by its limit") {
  redis_server server;
  const auto store = open_store(server.url("&connect_timeout=200&statement_timeout=200"));
  server.stop();
  fault why;
  CHECK(store->connect(10s, why) == nullptr);
  CHECK(why.connection);
  CHECK(why.transient);
  server.go_on();
}

}  // namespace dlock::test
