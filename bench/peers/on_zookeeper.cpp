// SPDX-License-Identifier: BSL-1.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contender.hpp"
#include "support/zookeeper_server.hpp"
#include "zookeeper_by_hand.hpp"

namespace dlock::bench {

namespace {

class recipe_lock final : public key_lock {
 public:
  recipe_lock(std::shared_ptr<const zookeeper_session> session, const std::string& key)
      : session_(std::move(session)), recipe_(*session_, "/" + key) {}
  void lock() override { recipe_.acquire(); }
  void unlock() override { recipe_.release(); }

 private:
  const std::shared_ptr<const zookeeper_session> session_;
  zookeeper_recipe recipe_;
};

}  // namespace

std::vector<contender> on_zookeeper() {
  // The tests' servers don't wait for the disk, and write small files.
  const auto server =
      std::make_shared<test::zookeeper_server>(std::vector<std::string>{"forceSync=yes", "preAllocSize=65536"});
  const auto start = [server]() -> client_process {
    return [session = std::make_shared<const zookeeper_session>(server->address())](const std::string& key) {
      return std::make_unique<recipe_lock>(session, key);
    };
  };
  return {by_dlock("ZooKeeper", "dlock", "1 session", server->pid(), server->url()),
          contender{.server = "ZooKeeper",
                    .name = "recipe of the C client",
                    .connections = "1 session",
                    .start = start,
                    .server_pid = server->pid(),
                    .beside = "dlock"}};
}

}  // namespace dlock::bench
