// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

/// Another client of the servers, as an operator or another program has one.
struct other_client {
  using on_answer = stores::zookeeper::on_answer;

  explicit other_client(const std::string& url, std::chrono::milliseconds timeout = 10s)
      : handle(settings_of(url), timeout) {
    REQUIRE(ask([&](on_answer done) { handle.when_connected(std::move(done)); }).code == ZOK);
  }
  /// Returns the new node's path.
  std::string make(const std::string& path, int mode = ZOO_EPHEMERAL) {
    const auto made = ask([&](on_answer done) { handle.create(path, "", mode, std::move(done)); });
    REQUIRE(made.code == ZOK);
    return made.text;
  }
  void remove(const std::string& path) {
    REQUIRE(ask([&](on_answer done) { handle.remove(path, std::move(done)); }).code == ZOK);
  }
  std::vector<std::string> below(const std::string& path) {
    return ask([&](on_answer done) { handle.list(path, std::move(done)); }).names;
  }

  stores::zookeeper::zookeeper_handle handle;
};

}  // namespace dlock::test
