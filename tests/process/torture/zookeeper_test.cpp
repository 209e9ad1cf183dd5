// SPDX-License-Identifier: BSL-1.0
// Three ZooKeeper servers of its own, which are killed, also the leader, and connections through proxies, which break.
#include <fmt/format.h>

#include "dlock/stores/zookeeper.hpp"
#include "process/torture/driver.hpp"
#include "support/tcp_proxy.hpp"
#include "support/test.hpp"
#include "support/zookeeper_server.hpp"

namespace dlock::test {

namespace {

class zookeeper_torture final : public tortured_fixture {
 public:
  zookeeper_torture() {
    for (std::size_t i = 0; i != servers_.size(); ++i) {
      ways_.push_back(std::make_unique<tcp_proxy>(servers_[i].port()));
    }
  }
  std::string url() const override {
    std::string hosts;
    for (const auto& each : ways_) hosts += fmt::format("{}127.0.0.1:{}", hosts.empty() ? "" : ",", each->port());
    return "zookeeper://" + hosts + "/";
  }
  /// The servers don't see it: the sessions go on by another connection, if it comes in time.
  void cut(dice& random) override {
    const auto only = random() % (ways_.size() + 1);  // or all
    for (std::size_t i = 0; i != ways_.size(); ++i) {
      if (only != ways_.size() && only != i) continue;
      ways_[i]->cut();
      ways_[i]->mend();
    }
  }
  void restart(dice& random, bool orderly) override {
    const auto which = orderly ? random() % servers_.size() : servers_.leader();
    orderly ? servers_[which].shut_down() : servers_[which].kill();
    static_cast<void>(servers_.leader());
    servers_[which].start();
    servers_[which].wait();
  }

 private:
  zookeeper_ensemble servers_{3};
  std::vector<std::unique_ptr<tcp_proxy>> ways_{};
};

}  // namespace

TEST_CASE("torture zookeeper: killed, stopped, cut off, and leaders killed, never two, and fences grow") {
  zookeeper_torture fixture;
  check_torture(fixture, {.recovery = 10s});
}

}  // namespace dlock::test
