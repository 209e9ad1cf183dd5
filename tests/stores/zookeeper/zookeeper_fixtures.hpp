// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "contract/store/store_contract.hpp"
#include "contract/url_fixture.hpp"
#include "dlock/stores/zookeeper.hpp"
#include "stores/zookeeper/client/handle.hpp"
#include "support/eventually.hpp"
#include "support/zookeeper_server.hpp"

namespace dlock::test {

/// Locks at a URL. A free key leaves nothing behind, and fences are those of the whole ensemble.
class zookeeper_fixture final : public url_fixture {
 public:
  using url_fixture::url_fixture;
  bool counts_grants() const override { return false; }
  bool deletes_free_rows() const override { return true; }
  bool forgets_expired() const override { return true; }
};

/// How often a server's answer names a child of the node of the key "k".
inline int key_nodes_in(const std::string& answer) {
  constexpr auto* node = "/dlock/k/";
  int found = 0;
  for (auto at = answer.find(node); at != std::string::npos; at = answer.find(node, at + 1)) ++found;
  return found;
}
/// How many children the node of the key "k" has, as the server counts.
inline int nodes_of_key(const zookeeper_server& server) { return key_nodes_in(server.ask("dump")); }

/// Who waits, as the engine does.
class counting_listener final : public key_listener {
 public:
  void may_be_free(bool works) noexcept override {
    works_ = works;
    ++calls_;
  }
  int calls() const { return calls_; }
  bool works() const { return works_; }

 private:
  std::atomic<int> calls_{0};
  std::atomic<bool> works_{false};
};

inline stores::zookeeper::zookeeper_settings settings_of(const std::string& url) {
  return stores::zookeeper::zookeeper_settings::parse(store_url::parse(url));
}

/// Sends one request and waits for its answer.
template <class Send>
stores::zookeeper::answer ask(Send&& send) {
  std::promise<stores::zookeeper::answer> promise;
  auto future = promise.get_future();
  send([&](stores::zookeeper::answer done) { promise.set_value(std::move(done)); });
  return future.get();
}

inline bool connects(stores::zookeeper::zookeeper_handle& handle) {
  return ask([&](stores::zookeeper::on_answer done) { handle.when_connected(std::move(done)); }).code == ZOK;
}

}  // namespace dlock::test
