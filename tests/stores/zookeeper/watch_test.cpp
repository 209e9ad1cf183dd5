// SPDX-License-Identifier: BSL-1.0

/// How a watch ends, where nobody has asked for that.

#include "stores/zookeeper/recipe/session.hpp"
#include "stores/zookeeper/zookeeper_fixtures.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

using namespace stores::zookeeper;

namespace {

class counting_changes final : public node_listener {
 public:
  void changed() override { ++count; }
  std::atomic<int> count{0};
};

/// Does not come back from being told before it may.
class slow_listener final : public key_listener {
 public:
  void may_be_free(bool) noexcept override {
    inside = true;
    may_go.wait(false);
    inside = false;
  }
  void let_go() {
    may_go = true;
    may_go.notify_all();
  }
  std::atomic<bool> inside{false};
  std::atomic<bool> may_go{false};
};

}  // namespace

TEST_CASE_METHOD(own_zookeeper, "zookeeper: who waits is told when its session ends, that nothing more will be told") {
  actor holder(fixture), other(fixture);
  holder.acquire("k");
  counting_listener queued, watching;
  other.store->watch("k", other.id, queued);
  other.store->watch("k", id128{}, watching);
  REQUIRE(eventually([&] { return queued.calls() == 1 && watching.calls() == 1; }));
  REQUIRE(other.close() == outcome::yes);
  CHECK(queued.calls() == 2);
  CHECK_FALSE(queued.works());
  CHECK(watching.calls() == 2);
  CHECK_FALSE(watching.works());
  other.store->unwatch("k", other.id, queued);
  other.store->unwatch("k", id128{}, watching);
  CHECK(nodes_of_key(server) == 1);
}

TEST_CASE_METHOD(
    proxied_zookeeper,
    "zookeeper: who waits is told that nothing more will be told when the servers have ended its session") {
  zookeeper_fixture direct(server.url()), cut_off(url_by(proxy.port()));
  actor holder(direct), other(cut_off, 4s);
  holder.acquire("k");
  counting_listener queued, watching;
  other.store->watch("k", other.id, queued);
  other.store->watch("k", id128{}, watching);
  REQUIRE(eventually([&] { return queued.calls() == 1 && watching.calls() == 1; }));
  proxy.cut();
  REQUIRE(eventually([&] { return nodes_of_key(server) == 1; }));
  proxy.mend();
  CHECK(eventually([&] { return queued.calls() == 2 && watching.calls() == 2; }));
  CHECK_FALSE(queued.works());
  CHECK_FALSE(watching.works());
  other.store->unwatch("k", other.id, queued);
  other.store->unwatch("k", id128{}, watching);
}

TEST_CASE_METHOD(
    own_zookeeper,
    "zookeeper: a listener isn't called any more after unwatch, although its session has ended meanwhile") {
  actor a(fixture);
  a.release("k", a.acquire("k"));
  slow_listener listener;
  a.store->watch("k", a.id, listener);
  REQUIRE(eventually([&] { return listener.inside.load(); }));
  auto closing = std::async(std::launch::async, [&] { return a.close(); });
  const auto connection = connect(*a.store, 1s);
  REQUIRE(eventually([&] {
    return a.store->session(*connection, session_verb::renew, {.id = a.id, .ttl = for_long}).result == outcome::no;
  }));
  std::atomic<bool> returned{false};
  auto leaving = std::async(std::launch::async, [&] {
    a.store->unwatch("k", a.id, listener);
    returned = true;
    return listener.inside.load();
  });
  CHECK(leaving.wait_for(200ms) == std::future_status::timeout);
  CHECK_FALSE(returned);
  listener.let_go();
  CHECK_FALSE(leaving.get());
  closing.get();
}

TEST_CASE_METHOD(own_zookeeper, "zookeeper: who can't watch the one before it leaves the queue, and is told so") {
  actor a(fixture);
  a.release("k", a.acquire("k"));
  // Its nodes are readable for itself alone.
  other_client foreign("zookeeper://user:secret@" + server.address());
  foreign.make("/dlock/k/lock-", ZOO_EPHEMERAL_SEQUENTIAL);
  counting_listener listener;
  stand_in_queue(a, listener);
  CHECK_FALSE(listener.works());
  CHECK(eventually([&] { return nodes_of_key(server) == 1; }));
  a.store->unwatch("k", a.id, listener);
  CHECK(answer(a.take("k")) == outcome::no);
}

TEST_CASE_METHOD(own_zookeeper,
                 "zookeeper: who waits and whose node somebody deletes is told that nothing more will be told") {
  actor holder(fixture), waiting(fixture);
  const auto fence = holder.acquire("k");
  other_client somebody(server.url());
  const auto held = somebody.below("/dlock/k");
  counting_listener listener;
  stand_in_queue(waiting, listener);
  for (const auto& each : somebody.below("/dlock/k")) {
    if (each != held.front()) somebody.remove("/dlock/k/" + each);
  }
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  REQUIRE(eventually([&] { return listener.calls() == 2; }));
  CHECK_FALSE(listener.works());
  CHECK(answer(waiting.take("k")) == outcome::yes);
  waiting.store->unwatch("k", waiting.id, listener);
}

TEST_CASE("zookeeper: a node of a doubted attempt is looked for until two polls were answered") {
  const zookeeper_server server;
  other_client client(server.url());
  zookeeper_handle closed(settings_of(server.url()), 10s);
  auto& handle = client.handle;
  client.make("/k", ZOO_PERSISTENT);
  closed.close();
  orphan_nodes orphans;
  orphans.add("/k", "mine-");
  for (int i = 0; i != 3; ++i) orphans.search(closed);
  orphans.search(handle);
  client.make("/k/mine-1");
  orphans.search(handle);
  CHECK(eventually([&] { return client.below("/k").empty(); }));
  client.make("/k/mine-1");
  orphans.search(handle);
  CHECK(client.below("/k").size() == 1);
  handle.close();  // before what it tells goes
}

TEST_CASE("zookeeper: a listener is told once of a node, and not of one that it could not watch") {
  const zookeeper_server server;
  other_client client(server.url());
  auto& handle = client.handle;
  const auto refused = std::make_shared<counting_changes>();
  const auto twice = std::make_shared<counting_changes>();
  const auto watch = [&](const std::shared_ptr<counting_changes>& listener) {
    return ask([&](on_answer done) { handle.read_and_watch("/n", listener, std::move(done)); }).code;
  };
  REQUIRE(watch(refused) == ZNONODE);
  client.make("/n");
  REQUIRE(watch(twice) == ZOK);
  REQUIRE(watch(twice) == ZOK);
  client.remove("/n");
  REQUIRE(eventually([&] { return twice->count > 0; }));
  handle.close();
  CHECK(twice->count == 1);
  CHECK(refused->count == 0);
}

}  // namespace dlock::test
