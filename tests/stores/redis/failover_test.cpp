// SPDX-License-Identifier: GPL-2.0-or-later

/// A primary with a replica, by two hosts in the URL.

#include <fmt/format.h>

#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "stores/redis/redis_places.hpp"

namespace dlock::test {

namespace {

struct two_hosts {
  two_hosts() { wait_for(replica, {"INFO", "replication"}, "master_link_status:up"); }

  /// The replica first, which nobody may use while it is one.
  std::string url(const std::string& parameters = {}) const {
    return fmt::format("redis://127.0.0.1:{},127.0.0.1:{}/0?persistence=none{}", replica.port(), primary.port(),
                       parameters);
  }
  void fail_over() {
    primary.kill();
    replica.ask({"REPLICAOF", "NO", "ONE"});
  }

  redis_server primary{};
  redis_server replica{{"--replicaof", fmt::format("127.0.0.1 {}", primary.port())}};
};

}  // namespace

TEST_CASE("redis failover: a replica is passed over, also as the only host", "[redis][hosts]") {
  two_hosts both;
  url_place place(both.url("&fences=count"));
  actor a(place);
  CHECK(a.acquire("k") == 1);
  CHECK(both.primary.ask({"EXISTS", "dlock:lock:k"}) == "1");
  fault why;
  CHECK(open_store(both.replica.url("&persistence=none"))->connect(5s, why) == nullptr);
  CHECK(why.text.find("is a replica") != std::string::npos);
}

TEST_CASE("redis failover: a primary that has become a replica certainly does nothing, and another connection is used",
          "[redis][hosts]") {
  two_hosts both;
  url_place place(both.url());
  actor a(place);
  both.primary.ask({"REPLICAOF", "127.0.0.1", "1"});
  const reply refused = a.insert("k");
  CHECK(refused.result == outcome::failed);
  CHECK(refused.why.connection);
  CHECK(refused.why.transient);
}

TEST_CASE("redis failover: the heir gives greater tokens, and who held something is told that it is lost",
          "[redis][hosts]") {
  two_hosts both;
  lock_service locks{both.url(), {.defaults = {.ttl = 30s}, .close_limit = 0ms, .sweep_every = 0ms}};
  const lease held = locks.acquire("k");
  const auto token = held.fencing_token();
  wait_for(both.replica, {"EXISTS", "dlock:lock:k"}, "1");
  both.fail_over();
  lock_service others{both.url(), {.close_limit = 0ms, .sweep_every = 0ms}};
  CHECK_FALSE(others.try_acquire("k"));  // its session lives there too, for now
  { const lease other = locks.acquire("other", {.wait = 10s}); }
  CHECK(held.loss() == loss_reason::server_changed);
  const lease next = others.acquire("k", {.wait = 60s});
  CHECK(next.fencing_token() > token);
}

}  // namespace dlock::test
