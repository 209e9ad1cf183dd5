// SPDX-License-Identifier: BSL-1.0

/// A primary with a replica, by two hosts in the URL.

#include <fmt/format.h>

#include <filesystem>

#include "dlock/lock_service.hpp"
#include "stores/redis/redis_fixtures.hpp"

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

/// A name that leads to one server after the other, as the address of a proxy does.
class one_name {
 public:
  explicit one_name(const redis_server& first) { lead_to(first); }
  void lead_to(const redis_server& to) const {
    std::filesystem::remove(path_);
    std::filesystem::create_symlink(to.socket(), path_);
  }
  std::string url(const std::string& parameters) const {
    return fmt::format("redis:///0?socket={}&persistence=always{}", path_, parameters);
  }

 private:
  scratch_folder folder_{};
  const std::string path_ = folder_ / "server.sock";
};

/// What a new connection takes its server for.
std::string server_of(store& locks) {
  fault why;
  const auto on = locks.connect(20s, why);
  INFO(why.text);
  REQUIRE(on != nullptr);
  return on->identity().server;
}

}  // namespace

TEST_CASE("redis failover: a replica is passed over, also as the only host") {
  two_hosts both;
  url_fixture fixture(both.url("&fences=count"));
  actor a(fixture);
  CHECK(a.acquire("k") == 1);
  CHECK(both.primary.ask({"EXISTS", "dlock:lock:k"}) == "1");
  fault why;
  CHECK(open_store(both.replica.url("&persistence=none"))->connect(5s, why) == nullptr);
  CHECK(why.text.find("is a replica") != std::string::npos);
}

TEST_CASE(
    "redis failover: a primary that has become a replica certainly does nothing, and another connection is used") {
  two_hosts both;
  url_fixture fixture(both.url());
  actor a(fixture);
  both.primary.ask({"REPLICAOF", "127.0.0.1", "1"});
  const reply refused = a.insert("k");
  CHECK(refused.result == outcome::failed);
  CHECK(refused.why.connection);
  CHECK(refused.why.transient);
}

TEST_CASE("redis failover: the heir gives greater tokens, and who held something is told that it is lost") {
  two_hosts both;
  lock_service locks{both.url(), {.defaults = {.ttl = 30s}, .close_limit = 0ms, .cleanup_interval = 0ms}};
  const lease held = locks.acquire("k");
  const auto token = held.fencing_token();
  wait_for(both.replica, {"EXISTS", "dlock:lock:k"}, "1");
  both.fail_over();
  lock_service others{both.url(), {.close_limit = 0ms, .cleanup_interval = 0ms}};
  CHECK_FALSE(granted(others.try_acquire("k")));  // its session lives there too, for now
  { const lease other = locks.acquire("other", {.wait = 10s}); }
  CHECK(held.loss() == loss_reason::server_changed);
  const lease next = others.acquire("k", {.wait = 60s});
  CHECK(next.fencing_token() > token);
}

TEST_CASE("redis failover: an heir behind the same name is another server, also if it keeps everything", "[T59]") {
  const std::string scheme = GENERATE("&scheme=leases", "&scheme=setnx");
  CAPTURE(scheme);
  two_hosts both;
  const one_name name(both.primary);
  const auto locks = open_store(name.url(scheme));
  const auto former = server_of(*locks);
  CHECK(server_of(*locks) == former);
  const auto written = both.primary.ask({"DBSIZE"});
  wait_for(both.replica, {"DBSIZE"}, written);
  both.fail_over();
  name.lead_to(both.replica);
  const auto promoted = server_of(*locks);
  CHECK(promoted != former);
  // Without replicas it forgets in time that it was one.
  both.replica.ask({"CONFIG", "SET", "repl-backlog-ttl", "1"});
  wait_for(both.replica, {"INFO", "replication"}, "second_repl_offset:-1");
  CHECK(server_of(*locks) == promoted);
}

TEST_CASE("redis failover: a primary that was replaced and is primary again is another server, with greater tokens",
          "[T59]") {
  const redis_server server;
  const auto locks = open_store(server.url("&persistence=always"));
  const auto former = server_of(*locks);
  const auto epoch = server.ask({"HGET", "dlock:meta", "epoch"});
  server.ask({"REPLICAOF", "127.0.0.1", "1"});
  server.ask({"REPLICAOF", "NO", "ONE"});
  const auto again = server_of(*locks);
  CHECK(again != former);
  const auto raised = server.ask({"HGET", "dlock:meta", "epoch"});
  CHECK(std::stoull(raised) > std::stoull(epoch));
  CHECK(server_of(*locks) == again);
  CHECK(server.ask({"HGET", "dlock:meta", "epoch"}) == raised);
}

TEST_CASE("redis failover: one refusal by a former primary ends each connection to it") {
  const std::string scheme = GENERATE("&scheme=leases", "&scheme=setnx");
  CAPTURE(scheme);
  two_hosts both;
  const auto locks = open_store(both.url(scheme));
  fault why;
  const auto asking = locks->connect(20s, why), idle = locks->connect(20s, why);
  REQUIRE(asking != nullptr);
  REQUIRE(idle != nullptr);
  both.replica.ask({"REPLICAOF", "NO", "ONE"});
  both.primary.ask({"REPLICAOF", "127.0.0.1", std::to_string(both.replica.port())});
  CHECK(idle->alive());
  const auto take = [&](connection& on) {
    const request one{.action = verb::insert,
                      .resource = "k",
                      .session = id128::random(),
                      .nonce = 1,
                      .kind = lease_kind::expiring,
                      .ttl = 30s};
    reply response;
    locks->execute(on, {&one, 1}, {&response, 1});
    return response.result;
  };
  CHECK(take(*asking) == outcome::failed);
  CHECK_FALSE(asking->usable());
  CHECK_FALSE(idle->alive());
  const auto next = locks->connect(20s, why);
  REQUIRE(next != nullptr);
  CHECK(take(*next) == outcome::yes);
  CHECK(next->alive());
}

}  // namespace dlock::test
