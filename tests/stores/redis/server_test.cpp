// SPDX-License-Identifier: BSL-1.0

/// What becomes of locks when the server forgets its scripts, is killed, or loses its data.

#include "dlock/lock_service.hpp"
#include "stores/redis/redis_fixtures.hpp"

namespace dlock::test {

TEST_CASE("redis: scripts that the server has forgotten are told it again, each verb of a batch once") {
  redis_server server;
  url_fixture fixture(server.url("&fences=count"));
  actor a(fixture);
  a.acquire("before");
  server.ask({"SCRIPT", "FLUSH"});
  const std::vector<std::string> keys{"a", "b", "c"};
  std::vector<request> requests;
  for (const auto& key : keys) {
    requests.push_back({.action = verb::insert, .resource = key, .session = a.id, .nonce = ++a.nonce});
  }
  const auto replies = a.run(requests);
  for (const auto& each : replies) {
    CHECK(answer(each) == outcome::yes);
    CHECK(each.fence == 1);
  }
  server.ask({"SCRIPT", "FLUSH"});
  CHECK(a.renew(for_long) == outcome::yes);
}

TEST_CASE(
    "redis: scripts are sent by the first connection of a store, and by a later one only to a server that has lost "
    "them") {
  const redis_server server;
  const auto store = open_store(server.url());
  store->prepare();
  const auto sent = [&] {
    const auto info = server.ask({"INFO", "commandstats"});
    return info.substr(info.find("cmdstat_script|load:"), 30);
  };
  const auto before = sent();
  fault why;
  for (int i = 0; i < 3; ++i) CHECK(store->connect(5s, why) != nullptr);
  CHECK(sent() == before);
  server.ask({"SCRIPT", "FLUSH"});
  CHECK(store->connect(5s, why) != nullptr);
  CHECK(sent() != before);
}

TEST_CASE("redis: what a killed server had written is there again, and nobody else gets it") {
  redis_server server;
  url_fixture fixture(server.url("&persistence=always"));
  actor a(fixture);
  const auto fence = a.acquire("k");
  const auto before = a.connection->identity();
  server.kill();
  server.start();
  actor b(fixture);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(b.at("k").holder == a.id);
  CHECK(b.at("k").fence == fence);
  CHECK_FALSE(b.at("k").gone);
  CHECK(b.connection->identity().server == before.server);
  CHECK(b.store->terminate(*b.connection, before));  // of the start before
}

TEST_CASE("redis: a key that somebody deleted gets no token again, on no connection", "[T50]") {
  const redis_server server;
  url_fixture fixture(server.url());
  actor a(fixture);
  const auto fence = a.acquire("k");
  server.ask({"DEL", "dlock:lock:k"});
  const auto next = a.acquire("k");
  CHECK(next > fence);
  server.ask({"FLUSHALL"});
  CHECK(a.acquire("k") > next);
}

TEST_CASE("redis: a session whose hash is gone goes from the index too", "[T58]") {
  const redis_server server;
  url_fixture fixture(server.url());
  actor a(fixture);
  REQUIRE(server.ask({"ZCARD", "dlock:sessions"}) == "1");
  server.ask({"EVAL", "return redis.call('DEL', redis.call('KEYS', 'dlock:session:*')[1])", "0"});
  CHECK(a.close() == outcome::no);
  CHECK(server.ask({"ZCARD", "dlock:sessions"}) == "0");
}

TEST_CASE("redis: after a start of the server tokens go on above all that it may have given before") {
  redis_server server({"--appendonly", "no"});
  url_fixture fixture(server.url("&persistence=none"));
  std::uint64_t fence = 0;
  {
    actor a(fixture);
    fence = a.acquire("k");
    REQUIRE(answer(a.release("k", fence)) == outcome::yes);
    REQUIRE(answer(a.take("k")) == outcome::yes);
    CHECK(a.at("k").fence > fence);
    fence = a.at("k").fence;
  }
  server.kill();
  server.start();
  actor b(fixture);
  CHECK(answer(b.poll("k")) == outcome::absent);
  CHECK(b.acquire("k") > fence);
}

TEST_CASE("redis: a start of the server that may have lost grants ends all leases, and the holders are told") {
  const bool keeps = GENERATE(true, false);
  CAPTURE(keeps);
  redis_server server({"--appendfsync", keeps ? "always" : "everysec"});
  lock_service locks{server.url(), {.defaults = {.ttl = 30s}, .close_limit = 0ms, .cleanup_interval = 0ms}};
  const lease held = locks.acquire("k");
  server.kill();
  server.start();
  { const lease other = locks.acquire("other", {.wait = 10s}); }
  if (keeps) {
    CHECK(held.loss() == loss_reason::none);
    CHECK_FALSE(granted(locks.try_acquire("k", {.reentry = reentry::busy})));
  } else {
    CHECK(held.loss() == loss_reason::server_changed);
    CHECK(eventually([&] { return held.lost_token().stop_requested(); }));  // told by another thread
  }
}

TEST_CASE("redis: a service that was made while the server was down serves when it is up") {
  redis_server server;
  server.kill();
  lock_service locks{server.url(), {.close_limit = 0ms, .lazy = true}};
  CHECK_THROWS_AS(locks.acquire("k", {.wait = 100ms}), store_error);
  server.start();
  CHECK(granted(locks.acquire("k", {.wait = 10s})));
}

}  // namespace dlock::test
