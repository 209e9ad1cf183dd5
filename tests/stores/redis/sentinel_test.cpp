// SPDX-License-Identifier: BSL-1.0

/// A primary with a replica, which sentinels watch.

#include <fmt/format.h>

#include "dlock/lock_service.hpp"
#include "stores/redis/redis_fixtures.hpp"

namespace dlock::test {

namespace {

std::vector<std::string> sentinel_of(const redis_server& primary) {
  return {"--sentinel", "front", std::to_string(primary.port())};
}

}  // namespace

TEST_CASE("redis sentinel: after a fail-over a holder is told that its lease is lost, and the next token is greater") {
  redis_server primary{{"--repl-diskless-sync-delay", "0"}};
  const redis_server replica{{"--replicaof", fmt::format("127.0.0.1 {}", primary.port())}};
  redis_server dead, first{sentinel_of(primary)}, second{sentinel_of(primary)}, third{sentinel_of(primary)};
  dead.kill();
  const auto url = fmt::format("redis://127.0.0.1:{},127.0.0.1:{},127.0.0.1:{}/0?sentinel=front", dead.port(),
                               first.port(), second.port());
  lock_service locks{url, {.defaults = {.ttl = 30s}, .close_limit = 0ms, .cleanup_interval = 0ms}};
  const lease held = locks.acquire("k");
  const auto token = held.fencing_token();
  CHECK(primary.ask({"EXISTS", "dlock:lock:k"}) == "1");
  wait_for(replica, {"EXISTS", "dlock:lock:k"}, "1");
  for (const auto* each : {&first, &second, &third}) {
    wait_for(*each, {"SENTINEL", "master", "front"}, "num-slaves\n1");
    wait_for(*each, {"SENTINEL", "master", "front"}, "num-other-sentinels\n2");
  }
  primary.kill();
  // The sentinels take a stall of some seconds for none of the primary's.
  REQUIRE(eventually([&] { return replica.ask({"ROLE"}).starts_with("master"); }, 70s));
  const lease other = locks.acquire("other", {.wait = 40s});
  CHECK(replica.ask({"EXISTS", "dlock:lock:other"}) == "1");
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(held.loss() == loss_reason::server_changed);
  // The former primary comes back, and is no primary: nobody is led there.
  primary.start();
  lock_service others{url, {.close_limit = 0ms, .cleanup_interval = 0ms}};
  const lease next = others.acquire("k", {.wait = 60s});
  CHECK(next.fencing_token() > token);
  CHECK(replica.ask({"HGET", "dlock:lock:k", "fence"}) == std::to_string(next.fencing_token()));
}

TEST_CASE("redis sentinel: what it says is checked, and what it does not know is said") {
  const redis_server primary{{"--repl-diskless-sync-delay", "0"}};
  const redis_server replica{{"--replicaof", fmt::format("127.0.0.1 {}", primary.port())}};
  wait_for(replica, {"INFO", "replication"}, "master_link_status:up");
  const redis_server wrong{sentinel_of(replica)};
  const auto said = [&](const redis_server& at, const char* name) {
    return message_of([&] {
      open_store(fmt::format("redis://127.0.0.1:{}/0?connect_timeout=5000&sentinel={}", at.port(), name))->prepare();
    });
  };
  CHECK(said(wrong, "front").find(fmt::format("127.0.0.1:{}: is a replica", replica.port())) != std::string::npos);
  CHECK(said(wrong, "back").find("the sentinel knows no primary 'back'") != std::string::npos);
  CHECK(said(primary, "front").find("sentinel: ERR unknown command") != std::string::npos);
  check_url_refused("redis:///0?socket=/x&sentinel=a", "socket= and sentinel= exclude each other");
  check_url_refused("redis://a?sentinel_password=x", "sentinel_password needs sentinel=");
  check_url_refused("redis://a?sentinel=b&sentinel_user=x", "sentinel_user needs sentinel_password");
}

}  // namespace dlock::test
