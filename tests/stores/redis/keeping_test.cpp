// SPDX-License-Identifier: BSL-1.0

/// What keeps a lease where the server is full, loads its data, loses a lock or the connection; and what clean-up
/// leaves.

#include <fmt/format.h>

#include "dlock/lock_service.hpp"
#include "stores/redis/redis_fixtures.hpp"

namespace dlock::test {

namespace {

std::string session_key(const id128& id) {
  return "dlock:session:" + std::string(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
}

std::int64_t server_now(const redis_server& server) {
  const auto response = server.ask({"TIME"});
  const auto space = response.find('\n');
  return std::stoll(response.substr(0, space)) * 1'000'000 + std::stoll(response.substr(space + 1));
}

service_options alone() { return {.defaults = {.ttl = 30s}, .close_limit = 0ms, .cleanup_interval = 0ms}; }

}  // namespace

TEST_CASE("redis: an acquire waits while the server loads its data after a start") {
  redis_server server({"--key-load-delay", "500"});
  server.ask({"EVAL", "for i = 1, 5000 do redis.call('SET', 'stranger' .. i, 1) end", "0"});
  lock_service locks{server.url(), alone()};
  locks.acquire("k").release();
  server.kill();
  auto waits = std::async(std::launch::async, [&] { return granted(locks.acquire("k", {.wait = 60s})); });
  server.start();  // returns when it has loaded
  CHECK(waits.get());
}

TEST_CASE("redis: each token is at least the server's time in microseconds, so a later one of an heir is greater") {
  const redis_server server;
  url_fixture fixture(server.url());
  actor a(fixture);
  auto last = a.acquire("k");
  for (int i = 0; i < 3; ++i) {
    const auto before = server_now(server);
    REQUIRE(answer(a.release("k", last)) == outcome::yes);
    const auto response = a.take("k");
    REQUIRE(answer(response) == outcome::yes);
    CHECK(response.fence > last);
    CHECK(static_cast<std::int64_t>(response.fence) >= before);
    last = response.fence;
  }
}

TEST_CASE("redis: a server whose memory is full renews sessions, extends, frees and revokes") {
  const std::string fences = GENERATE("", "&fences=count");
  CAPTURE(fences);
  const redis_server server;
  url_fixture fixture(server.url(fences));
  actor a(fixture), b(fixture);
  const auto fence = a.acquire("k");
  const auto kept = a.acquire("kept");
  const auto own = a.insert("own", for_long);
  REQUIRE(answer(own) == outcome::yes);
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  REQUIRE_THAT(server.ask({"SET", "any", "thing"}), ContainsSubstring("OOM"));
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(answer(a.extend("own", own.fence, for_long)) == outcome::yes);
  CHECK(answer(a.release("k", fence)) == outcome::yes);
  CHECK(answer(a.release("kept", kept, 1h)) == outcome::yes);
  CHECK(b.insert("other").result == outcome::failed);
  fault why;
  const auto more = a.store->connect(20s, why);
  INFO(why.text);
  CHECK(more != nullptr);
}

TEST_CASE("redis: clean-up deletes idle keys also where the server's memory is full", "[T58]") {
  const redis_server server;
  url_fixture fixture(server.url("&fences=count"));
  actor a(fixture);
  const auto fence = a.acquire("k");
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  const auto cleaned = a.store->admin()->cleanup(*a.connection, 1us, 10);
  CHECK(answer(cleaned) == outcome::yes);
  CHECK(server.ask({"EXISTS", "dlock:lock:k"}) == "0");
  CHECK(server.ask({"HGET", "dlock:meta", "floor"}) == std::to_string(fence));
}

TEST_CASE("redis: a free key goes by itself where tokens come from the clock, and a held one never", "[T58]") {
  const redis_server server;
  url_fixture fixture(server.url());
  actor a(fixture);
  const auto ttl = [&] { return std::stol(server.ask({"PTTL", "dlock:lock:k"})); };
  const auto fence = a.acquire("k");
  CHECK(ttl() == -1);
  SECTION("released") {
    REQUIRE(answer(a.release("k", fence)) == outcome::yes);
    CHECK(ttl() > 0);
    CHECK(server.ask({"ZCARD", "dlock:locks"}) == "0");
  }
  SECTION("released, and kept for a while") {
    REQUIRE(answer(a.release("k", fence, 1h)) == outcome::yes);
    CHECK(ttl() > 3'600'000);
    server.ask({"HSET", "dlock:lock:k", "expires", "1"});
  }
  SECTION("cancelled") {
    REQUIRE(answer(a.cancel("k", a.nonce)) == outcome::yes);
    CHECK(ttl() > 0);
  }
  REQUIRE(answer(a.take("k")) == outcome::yes);
  CHECK(ttl() == -1);
  CHECK(server.ask({"ZCARD", "dlock:locks"}) == "1");
}

TEST_CASE("redis: a lock whose hash somebody deletes is lost at the next renewal, and only that one") {
  const redis_server server;
  lock_service locks{server.url(), alone()};
  const lease held = locks.acquire("k", {.ttl = 6s}), other = locks.acquire("other", {.ttl = 6s});
  server.ask({"DEL", "dlock:lock:k"});
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(held.loss() == loss_reason::taken_over);
  CHECK_NOTHROW(other.ensure_held());
}

TEST_CASE("redis: members that somebody deletes are lost at the next renewal, and only those") {
  const redis_server server;
  lock_service locks{server.url(), alone()};
  const auto take = [&](const char* key, lock_mode mode) {
    return locks.acquire(key, {.ttl = 6s, .reentry = reentry::busy, .mode = mode});
  };
  const lease reading = take("k", shared), permit = take("k", one_of(5)), other = take("other", shared);
  const lease closed = take("closed", shared), kept = take("kept", one_of(2)), also_kept = take("kept", one_of(2));
  REQUIRE(server.ask({"DEL", "dlock:members:k"}) == "1");
  REQUIRE(server.ask({"DEL", "dlock:lock:closed"}) == "1");
  for (const auto* const each : {&reading, &permit, &closed}) {
    CHECK(eventually([&] { return each->lost_token().stop_requested(); }));
    CHECK(each->loss() == loss_reason::taken_over);
  }
  for (const auto* const each : {&other, &kept, &also_kept}) CHECK_NOTHROW(each->ensure_held());
}

TEST_CASE("redis: renewals look for all locks of a session in turn") {
  const redis_server server;
  url_fixture fixture(server.url("&fences=count"));
  actor a(fixture);
  struct : store_listener {
    std::list<std::string> gone{};
    void renew_now() noexcept override {}
    void lock_deleted(std::string_view key, const id128&, std::uint64_t) noexcept override { gone.emplace_back(key); }
  } listener;
  a.store->listen(listener);
  constexpr int many = 250;
  for (int i = 0; i < many; ++i) REQUIRE(a.acquire(fmt::format("k{:03}", i)) == 1);
  for (const char* each : {"k000", "k120", "k249"}) {
    server.ask({"DEL", fmt::format("dlock:lock:{}", each)});
  }
  REQUIRE(answer(a.release("k001", 1)) == outcome::yes);  // what is released is not missed
  for (int i = 0; i < 3; ++i) CHECK(a.renew(for_long) == outcome::yes);
  CHECK(listener.gone == std::list<std::string>{"k000", "k120", "k249"});
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(listener.gone.size() == 3);
  a.store->unlisten(listener);
}

TEST_CASE("redis: that a server has lost its data is noticed when it is back, long before a renewal is due") {
  const std::string scheme = GENERATE("&scheme=leases", "&scheme=setnx");
  CAPTURE(scheme);
  redis_server server({"--appendonly", "no"});
  lock_service locks{server.url("&persistence=none" + scheme),
                     {.defaults = {.ttl = 600s}, .close_limit = 0ms, .cleanup_interval = 0ms}};
  const lease held = locks.acquire("k");
  server.kill();
  server.start();
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }, 30s));
  CHECK(held.loss() == loss_reason::server_changed);
}

TEST_CASE("redis: clean-up leaves a dead holder's row and session for one ttl more", "[T58]") {
  const redis_server server;
  url_fixture fixture(server.url("&fences=count"));
  actor a(fixture), b(fixture), without_locks(fixture);
  REQUIRE(a.acquire("k") == 1);
  const auto died_ago = [&](std::chrono::microseconds ago) {
    const auto ends = std::to_string(server_now(server) - ago.count());
    for (const auto& id : {a.id, without_locks.id}) {
      server.ask({"HSET", session_key(id), "expires", ends, "ttl", "60000000"});
      const std::string name(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
      server.ask({"ZADD", "dlock:sessions", ends, name});
    }
    for (int i = 0; i < 3; ++i) CHECK(answer(b.store->admin()->cleanup(*b.connection, 1us, 10)) == outcome::yes);
  };
  died_ago(1s);
  CHECK(server.ask({"EXISTS", "dlock:lock:k"}) == "1");
  CHECK(server.ask({"EXISTS", session_key(a.id)}) == "1");
  CHECK(server.ask({"EXISTS", session_key(without_locks.id)}) == "1");
  died_ago(61s);
  CHECK(server.ask({"EXISTS", "dlock:lock:k"}) == "0");
  CHECK(server.ask({"EXISTS", session_key(a.id)}) == "0");
  CHECK(server.ask({"EXISTS", session_key(without_locks.id)}) == "0");
}

TEST_CASE("redis: clean-up looks at dead sessions in windows, and finds all", "[T58]") {
  const redis_server server;
  url_fixture fixture(server.url());
  actor a(fixture);
  server.ask({"EVAL", "for i = 1, 1200 do redis.call('ZADD', 'dlock:sessions', i, 'dead' .. i) end", "0"});
  for (int i = 0; i < 3; ++i) {
    CHECK(answer(a.store->admin()->cleanup(*a.connection, 1us, 2000)) == outcome::yes);
  }
  CHECK(server.ask({"ZCARD", "dlock:sessions"}) == "1");
}

TEST_CASE("redis: a watch that begins anew is not told that it works before the server has said so") {
  const redis_server server;
  const auto fixture = open_store(server.url());
  fixture->prepare();
  std::list<counting_listener> all(20);
  const auto each_key = [&](auto&& use) {
    int i = 0;
    for (auto& one : all) use(fmt::format("k{}", i++), one);
  };
  each_key([&](const std::string& key, counting_listener& one) { fixture->watch(key, {}, one); });
  each_key([&](const std::string&, counting_listener& one) { REQUIRE(eventually([&] { return one.yes == 1; })); });
  server.stop();
  each_key([&](const std::string& key, counting_listener& one) {
    fixture->unwatch(key, {}, one);
    fixture->watch(key, {}, one);
    CHECK(one.yes == 1);
  });
  server.go_on();
  each_key([&](const std::string& key, counting_listener& one) {
    CHECK(eventually([&] { return one.yes == 2; }));
    fixture->unwatch(key, {}, one);
  });
}

TEST_CASE("redis: a connection for notices that breaks in silence is not trusted for long") {
  const redis_server server;
  const auto fixture = open_store(server.url("&statement_timeout=200"));
  fixture->prepare();
  counting_listener listener;
  fixture->watch("k", {}, listener);
  REQUIRE(eventually([&] { return listener.yes == 1; }));
  server.stop();  // its connections stay open
  CHECK(eventually([&] { return listener.no == 1; }, 40s));
  server.go_on();
  CHECK(eventually([&] { return listener.yes == 2; }, 40s));
  fixture->unwatch("k", {}, listener);
}

TEST_CASE("redis: a user without the right to write is refused at the start") {
  const std::string scheme = GENERATE("&scheme=leases", "&scheme=setnx");
  CAPTURE(scheme);
  const redis_server server;
  open_store(server.url())->prepare();  // so that nothing is left to be written at a start
  server.ask({"ACL", "SETUSER", "reader", "on", ">x", "~*", "&*", "+@all", "-@write"});
  CHECK_THROWS_MATCHES(open_store(server.tcp_url(scheme, "reader:x@"))->prepare(), store_error,
                       MessageMatches(ContainsSubstring("permissions") || ContainsSubstring("can't run")));
}

}  // namespace dlock::test
