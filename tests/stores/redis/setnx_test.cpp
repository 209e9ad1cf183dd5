// SPDX-License-Identifier: BSL-1.0

/// scheme=setnx beside programs that lock by redis-py.

#include <fmt/format.h>

#include "stores/redis/redis_fixtures.hpp"
#include "support/redis_counters.hpp"

namespace dlock::test {

namespace {

std::string python(const redis_server& server, const std::string& words) {
  return fmt::format("{} {} {}", DLOCK_TEST_REDIS_PY, server.socket(), words);
}

struct setnx_fixture {
  std::string run(const std::string& words) const { return program_output(python(server, words)).end(); }
  /// On a thread. It has subscribed, and has asked again when that worked.
  auto wait_for_k(const lock_options& how = {}) {
    locks.acquire("another").release();  // the session is open
    const auto before = locks.statements();
    auto waits = std::async(std::launch::async, [this, how] { return granted(locks.try_acquire("k", how)); });
    REQUIRE(eventually([&] { return listens() && locks.statements() >= before + 4; }));
    return waits;
  }
  bool listens() const { return server.ask({"PUBSUB", "CHANNELS"}).find("dlock:free:k") != std::string::npos; }
  /// How often the server has executed that command.
  std::string calls(const std::string& command) const {
    const auto all = server.ask({"INFO", "commandstats"});
    const auto name = "cmdstat_" + command + ":calls=";
    const auto at = all.find(name);
    return at == std::string::npos ? "0" : all.substr(at + name.size(), all.find(',', at) - at - name.size());
  }

  redis_server server{};
  lock_service locks{server.url("&scheme=setnx"), {.close_limit = 0ms}};
};

}  // namespace

TEST_CASE_METHOD(setnx_fixture, "redis setnx: dlock and redis-py exclude each other") {
  constexpr auto length = 3s;
  check_that_counters_exclude_each_other(locks, server,
                                         python(server, fmt::format("count stock counter {}", length.count())), length);
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: what one of them holds the other does not get, until it is free") {
  {
    const lease held = locks.acquire("k");
    CHECK(run("try k") == "False");
  }
  CHECK(run("try k") == "True");
  CHECK_FALSE(granted(locks.try_acquire("k")));
  const auto holder = locks.holder("k");
  REQUIRE(holder);
  CHECK_FALSE(holder->session);
  CHECK(holder->label.size() == 32);  // its token
  CHECK(holder->remaining > 20s);
  CHECK(locks.held_keys().empty());  // no mark tells its keys from others
  server.ask({"DEL", "k"});
  const lease mine = locks.acquire("k");
  CHECK(locks.held_keys().size() == 1);
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: a key whose holder in Python has died is free after its expiry") {
  run("keep k 0.3");
  const lease held = locks.acquire("k", {.wait = 20s});
  CHECK(held);
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: a lease is renewed, and lost when somebody has deleted its key") {
  const lease held = locks.acquire("k", {.ttl = 6s});
  const auto left = [&] { return std::stol(server.ask({"PTTL", "k"})); };
  auto seen = left();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(eventually([&] {
      const auto now = left();
      return now > std::exchange(seen, now);
    }));
  }
  CHECK(held.remaining() > 0us);
  server.ask({"DEL", "k"});
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(held.loss() == loss_reason::taken_over);
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: a late release leaves the key of the next holder alone") {
  lease held = locks.acquire("k", {.ttl = 30s});
  server.ask({"DEL", "k"});
  CHECK(run("try k") == "True");
  CHECK_THROWS_AS(held.release(), lock_lost);
  CHECK(run("try k") == "False");
}

TEST_CASE_METHOD(setnx_fixture,
                 "redis setnx: a list of held keys reads no more of other strings than their first bytes") {
  const lease one = locks.acquire("one"), two = locks.acquire("two");
  server.ask({"EVAL", "for i = 1, 2000 do redis.call('SET', 'page' .. i, string.rep('x', 2000)) end", "0"});
  server.ask({"SET", "like", "dlock:but not a lock"});
  const auto sent = [&] {
    const auto info = server.ask({"INFO", "stats"});
    return std::stol(info.substr(info.find("total_net_output_bytes:") + 23));
  };
  const auto before = sent();
  const auto held = locks.held_keys();
  CHECK(sent() - before < 2000 * 200);
  REQUIRE(held.size() == 2);
  CHECK(held[0].key == "one");
  CHECK(held[1].key == "two");
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: a renewed lease whose server is gone is lost as unreachable") {
  const lease held = locks.acquire("k", {.ttl = 2s});
  server.kill();
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(held.loss() == loss_reason::unreachable);
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: a waiter finds by polling what another program has freed") {
  server.ask({"SET", "k", "another program's"});
  auto waits = wait_for_k({.wait = 60s});
  server.ask({"DEL", "k"});
  CHECK(waits.wait_for(8s) == std::future_status::ready);  // one that relied on notifications would poll after 10 s
  CHECK(waits.get());
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: a wait that ends in vain listens no more") {
  server.ask({"SET", "k", "another program's"});
  std::stop_source cancel;
  SECTION("at its deadline") { CHECK_FALSE(wait_for_k({.wait = 200ms}).get()); }
  SECTION("cancelled") {
    auto waits = wait_for_k({.wait = 60s, .cancel = cancel.get_token()});
    cancel.request_stop();
    CHECK_THROWS_AS(waits.get(), lock_refused);
  }
  CHECK(eventually([&] { return !listens(); }));
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: with wake=off a waiter polls, and does not subscribe") {
  lock_service quiet{server.url("&scheme=setnx&wake=off"), {.close_limit = 0ms}};
  CHECK(locks.caps().tells_free());
  CHECK_FALSE(quiet.caps().tells_free());
  auto held = std::optional<lease>(locks.acquire("k"));
  auto waits = std::async(std::launch::async, [&] { return granted(quiet.acquire("k", {.wait = 60s})); });
  REQUIRE(eventually([&] { return std::stoi(calls("set")) >= 2; }));
  REQUIRE(eventually([&] { return quiet.statements() >= 4; }));
  held.reset();
  CHECK(waits.get());
  CHECK(calls("subscribe") == "0");
  CHECK_THROWS_MATCHES(open_store(server.url("&scheme=setnx&wake=maybe")), std::invalid_argument,
                       MessageMatches(ContainsSubstring("wake=maybe is not on or off")));
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: a lock that no other process wants costs a SET and a script") {
  locks.acquire("k").release();  // the connection, and the scripts
  server.ask({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 10; ++i) locks.acquire("k").release();
  CHECK(calls("set") == "10");
  CHECK(calls("evalsha") == "10");
  CHECK(calls("publish") == "10");  // by the script
  CHECK(calls("subscribe") == "0");
}

TEST_CASE_METHOD(setnx_fixture, "redis setnx: a key that is too long for one name is refused, not folded") {
  CHECK_THROWS_MATCHES(locks.try_acquire(std::string(256, 'k')), std::invalid_argument,
                       MessageMatches(ContainsSubstring("more than 255 bytes is folded")));
  CHECK(granted(locks.try_acquire(std::string(255, 'k'))));
}

TEST_CASE("redis setnx: what its keys can't do is refused with the store's name") {
  const redis_server server, full({"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"});
  lock_service locks{server.url("&scheme=setnx")};
  CHECK_THROWS_MATCHES(locks.acquire("k", {.min_hold = 1s}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("min_hold = 1000 ms") && ContainsSubstring("scheme=setnx")));
  const lease held = locks.acquire("k");
  CHECK_THROWS_AS(held.verification(), std::logic_error);
  CHECK_THROWS_AS(static_cast<void>(held.fencing_token()), std::logic_error);
  CHECK_THROWS_MATCHES(open_store(full.url("&scheme=setnx"))->prepare(), std::invalid_argument,
                       MessageMatches(ContainsSubstring("maxmemory-policy is volatile-lru")));
  CHECK_THROWS_MATCHES(open_store(server.url("&scheme=other")), std::invalid_argument,
                       MessageMatches(ContainsSubstring("scheme=other is not leases or setnx")));
}

}  // namespace dlock::test
