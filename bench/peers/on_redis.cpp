// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contender.hpp"
#include "harness.hpp"
#include "placement.hpp"
#include "redis_by_hand.hpp"
#include "support/redis_server.hpp"

namespace dlock::bench {

namespace {

/// SET NX PX on a connection of its own, as most programs use it: a waiter tries again after 50 to 100 ms.
class set_nx_lock final : public key_lock {
 public:
  set_nx_lock(const std::string& socket, const std::string& key)
      : connection_(socket, fmt::format("{}/{}/", ::getpid(), key)), key_(key) {}
  void lock() override {
    while (!connection_.take(key_)) std::this_thread::sleep_for(std::chrono::milliseconds{pause_ms_(random_)});
  }
  void unlock() override { connection_.release(key_); }

 private:
  set_nx connection_;
  const std::string key_;
  std::minstd_rand random_{static_cast<unsigned>(::getpid())};
  std::uniform_int_distribution<int> pause_ms_{50, 100};
};

}  // namespace

std::vector<contender> on_redis(bool synced) {
  const auto server = std::make_shared<test::redis_server>(synced ? std::vector<std::string>{}
                                                                  : std::vector<std::string>{"--appendonly", "no"});
  const std::string name = synced ? "Redis, appendfsync always" : "Redis, not synced";
  const auto pid = listener(server->socket());
  auto ours = by_dlock(name, "dlock", "pool of 4", pid, server->url(synced ? "" : "&persistence=none"));
  const auto start = [server]() -> client_process {
    return [server](const std::string& key) { return std::make_unique<set_nx_lock>(server->socket(), key); };
  };
  return {std::move(ours), contender{.server = name,
                                     .name = "SET NX PX",
                                     .connections = "1 a thread",
                                     .start = start,
                                     .server_pid = pid,
                                     .beside = "dlock"}};
}

}  // namespace dlock::bench
