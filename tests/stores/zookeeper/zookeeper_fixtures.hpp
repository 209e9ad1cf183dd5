// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contract/backends/zookeeper/fixture.hpp"
#include "contract/store/store_contract.hpp"
#include "stores/zookeeper/client/handle.hpp"
#include "support/calls.hpp"
#include "support/counting_listener.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

/// How often a server's answer names a child of the node of the key "k".
inline int key_nodes_in(const std::string& answer) {
  constexpr auto* node = "/dlock/k/";
  int found = 0;
  for (auto at = answer.find(node); at != std::string::npos; at = answer.find(node, at + 1)) ++found;
  return found;
}
/// How many children the node of the key "k" has, as the server counts.
inline int nodes_of_key(const zookeeper_server& server) { return key_nodes_in(server.ask("dump")); }

/// A server reached by this port of this host.
inline std::string url_by(std::uint16_t port) { return "zookeeper://127.0.0.1:" + std::to_string(port); }

/// A server of a test's own, and the place on it.
struct own_zookeeper {
  const zookeeper_server server{};
  zookeeper_fixture fixture{server.url()};
};

/// A server of a test's own, and a way to it that can be cut.
struct proxied_zookeeper {
  const zookeeper_server server{};
  tcp_proxy proxy{server.port()};
};

/// Makes it wait for "k" in the server's queue. A failure if it does not get there.
inline void stand_in_queue(actor& who, counting_listener& listener) {
  who.store->watch("k", who.id, listener);
  REQUIRE(eventually([&] { return listener.calls() == 1; }));
}

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
