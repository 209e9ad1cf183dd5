// SPDX-License-Identifier: BSL-1.0

/// Servers that fall silent in mid-statement, connections that break.

#include <future>

#include "stores/redis/redis_places.hpp"

namespace dlock::test {

TEST_CASE("redis unknown: a grant without an answer is unknown, and once its connection is ended it can be cancelled",
          "[redis]") {
  redis_server server;
  url_place impatient(server.url("&fences=count&statement_timeout=2000")), place(server.url("&fences=count"));
  actor a(impatient), b(place);
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
  const reply now = b.look("k");
  CHECK((now.result == outcome::absent || !now.holder.holder));
  CHECK(b.acquire("k") >= 1);
}

TEST_CASE("redis unknown: an interrupted statement returns at once, from any thread", "[redis]") {
  redis_server server;
  url_place place(server.url("&statement_timeout=60000"));
  auto told = outcome::failed;
  for (int i = 0; i < 10 && told != outcome::unknown; ++i) {  // one that was not sent yet has certainly failed
    actor a(place);
    server.stop();
    auto look = std::async(std::launch::async, [&] { return a.look("k"); });
    CHECK(look.wait_for(50ms * (1 << i / 2)) == std::future_status::timeout);
    a.connection->interrupt();
    CHECK(look.wait_for(20s) == std::future_status::ready);
    told = look.get().result;
    server.go_on();
  }
  CHECK(told == outcome::unknown);
}

TEST_CASE("redis unknown: a connection that its server has closed is seen before it is used", "[redis]") {
  redis_server server;
  url_place place(server.url());
  actor a(place), b(place);
  CHECK(a.connection->alive());
  REQUIRE(b.store->terminate(*b.connection, a.connection->identity()));
  CHECK(eventually([&] { return !a.connection->alive(); }));
  CHECK(b.connection->alive());
  CHECK(b.store->terminate(*b.connection, a.connection->identity()));  // not there any more: certain too
}

TEST_CASE("redis unknown: what runs on another server can't be ended", "[redis]") {
  redis_server server, other;
  url_place place(server.url()), elsewhere(other.url());
  actor a(place), b(elsewhere);
  CHECK_FALSE(b.store->terminate(*b.connection, a.connection->identity()));
}

TEST_CASE("redis unknown: connecting to a silent server ends by its limit", "[redis]") {
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
