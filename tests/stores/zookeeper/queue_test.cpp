// SPDX-License-Identifier: BSL-1.0

/// Who waits stands in a queue at the server.

#include "dlock/lock_service.hpp"
#include "stores/zookeeper/recipe/session.hpp"
#include "stores/zookeeper/zookeeper_fixtures.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

namespace {

/// How many children of the node of the key "k" somebody watches.
int watched_nodes(const zookeeper_server& server) { return key_nodes_in(server.ask("wchp")); }

}  // namespace

TEST_CASE_METHOD(own_zookeeper, "zookeeper: of all who wait one is told of a release, in the order in which they came",
                 "[T32]") {
  actor holder(fixture);
  auto fence = holder.acquire("k");
  std::vector<std::unique_ptr<actor>> waiting;
  std::deque<counting_listener> listeners(6);
  for (auto& listener : listeners) {
    waiting.push_back(std::make_unique<actor>(fixture));
    auto& last = *waiting.back();
    REQUIRE(answer(last.take("k")) == outcome::no);
    stand_in_queue(last, listener);  // it stands in the queue
    CHECK(listener.works());
  }
  CHECK(nodes_of_key(server) == 7);
  CHECK(watched_nodes(server) == 6);  // each waits for another one
  auto* before = &holder;
  for (std::size_t i = 0; i != waiting.size(); ++i) {
    REQUIRE(answer(before->release("k", fence)) == outcome::yes);
    REQUIRE(eventually([&] { return listeners[i].calls() == 2; }));
    const auto granted = waiting[i]->take("k");
    REQUIRE(answer(granted) == outcome::yes);
    CHECK(granted.statements == 0);
    CHECK(granted.fence > fence);
    fence = granted.fence;
    waiting[i]->store->unwatch("k", waiting[i]->id, listeners[i]);
    before = waiting[i].get();
  }
  // Once when it stood there, and once when it was the first.
  for (const auto& each : listeners) CHECK(each.calls() == 2);
  CHECK(before->at("k").holder == before->id);
}

TEST_CASE_METHOD(own_zookeeper, "zookeeper: who leaves the queue wakes nobody but the one behind, who goes on waiting",
                 "[T39]") {
  actor holder(fixture), leaving(fixture), staying(fixture);
  const auto fence = holder.acquire("k");
  counting_listener first, second;
  stand_in_queue(leaving, first);
  stand_in_queue(staying, second);
  leaving.store->unwatch("k", leaving.id, first);
  REQUIRE(eventually([&] { return nodes_of_key(server) == 2; }));
  CHECK(answer(staying.take("k")) == outcome::no);
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  REQUIRE(eventually([&] { return second.calls() == 2; }));
  CHECK(answer(staying.take("k")) == outcome::yes);
  CHECK(first.calls() == 1);
}

TEST_CASE_METHOD(own_zookeeper, "zookeeper: who was the first and did not take it gives way to the next") {
  actor holder(fixture), idle(fixture), next(fixture);
  const auto fence = holder.acquire("k");
  counting_listener idle_listener, next_listener;
  stand_in_queue(idle, idle_listener);
  stand_in_queue(next, next_listener);
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  REQUIRE(eventually([&] { return idle_listener.calls() == 2; }));
  CHECK(answer(idle.poll("k")) == outcome::absent);  // to be had by a take of its own session
  CHECK(next.at("k").holder == idle.id);
  idle.store->unwatch("k", idle.id, idle_listener);
  REQUIRE(eventually([&] { return next_listener.calls() == 2; }));
  CHECK(answer(next.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(own_zookeeper, "zookeeper: who is told and keeps no place is told when the holder has gone") {
  actor holder(fixture), other(fixture);
  const auto fence = holder.acquire("k");
  counting_listener listener, second_listener;
  other.store->watch("k", id128{}, listener);
  other.store->watch("k", id128{}, second_listener);
  REQUIRE(eventually([&] { return listener.calls() == 1 && second_listener.calls() == 1; }));
  CHECK(nodes_of_key(server) == 1);
  other.store->unwatch("k", id128{}, second_listener);
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  CHECK(eventually([&] { return listener.calls() == 2; }));
  other.store->unwatch("k", id128{}, listener);
  CHECK(second_listener.calls() == 1);
}

TEST_CASE_METHOD(proxied_zookeeper,
                 "zookeeper: a place that is left while its node is being created leaves no node behind", "[T14]") {
  zookeeper_fixture direct(server.url()), through(url_by(proxy.port()));
  actor holder(direct), leaving(through);
  const auto fence = holder.acquire("k");
  counting_listener listener;
  proxy.fall_silent();
  leaving.store->watch("k", leaving.id, listener);  // its request waits on the way
  leaving.store->unwatch("k", leaving.id, listener);
  proxy.mend();
  REQUIRE(leaving.renew(for_long) == outcome::yes);  // behind that request
  CHECK(eventually([&] { return nodes_of_key(server) == 1; }));
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  CHECK(eventually([&] { return holder.take("k").result == outcome::yes; }));
}

TEST_CASE("zookeeper: a place whose predecessor goes between its list and its watch is the first", "[T33]") {
  using namespace stores::zookeeper;
  const zookeeper_server server;
  tcp_proxy proxy(server.port());
  other_client other(server.url());
  other.make("/q", ZOO_PERSISTENT);
  const auto predecessor = other.make("/q/lock-", ZOO_EPHEMERAL_SEQUENTIAL);
  proxy.answer(3);  // to the greeting, the creation, the list; the request to watch waits on the way
  other_client through(url_by(proxy.port()), 60s);
  auto& handle = through.handle;
  orphan_nodes orphans;
  counting_listener listener;
  const auto fixture =
      std::make_shared<queue_node>(handle, orphans, queue_node::terms{.path = "/q", .data = "data"}, listener);
  fixture->begin();
  REQUIRE(eventually([&] { return !fixture->name().empty(); }));
  std::this_thread::sleep_for(200ms);  // until the list is there; without it the test shows less
  other.remove(predecessor);
  proxy.mend();
  lock_node node;
  CHECK(eventually([&] { return listener.calls() > 0 && fixture->take(node) == outcome::yes; }));
  fixture->leave();
  handle.close();  // before what it tells goes
}

TEST_CASE("zookeeper: a node of an attempt that was cancelled before it came is deleted at the next renewal", "[T14]") {
  using namespace stores::zookeeper;
  const zookeeper_server server;
  zookeeper_fixture fixture(server.url());
  actor a(fixture), b(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  constexpr std::uint64_t late = 77;
  REQUIRE(answer(a.cancel("k", late)) == outcome::no);
  // As by a server that has still had the request.
  other_client other(server.url());
  other.make("/dlock/k/" + node_prefix(node_names::curator, attempt_id(a.id, late), false), ZOO_EPHEMERAL_SEQUENTIAL);
  CHECK(answer(b.take("k")) == outcome::no);
  REQUIRE(a.renew(for_long) == outcome::yes);
  CHECK(eventually([&] { return nodes_of_key(server) == 0; }));
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE("zookeeper: services get a key in the order in which they asked", "[T33]") {
  const zookeeper_server server;
  lock_service locks(server.url());
  auto held = locks.acquire("k");
  std::vector<std::unique_ptr<lock_service>> services;
  std::vector<std::thread> threads;
  std::vector<int> order;  // guarded by the lock
  for (int i = 0; i != 5; ++i) {
    services.push_back(std::make_unique<lock_service>(server.url()));
    threads.emplace_back([&, i] {
      const lease mine = services.back()->acquire("k", {.wait = 20s, .fairness = fairness::fifo});
      order.push_back(i);
    });
    REQUIRE(eventually([&] { return nodes_of_key(server) == i + 2; }));
  }
  const auto before = locks.statements();
  held.release();
  for (auto& each : threads) each.join();
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(locks.statements() == before + 1);
}

TEST_CASE_METHOD(proxied_zookeeper, "zookeeper: an attempt whose answer was lost leaves no node behind", "[T14]") {
  zookeeper_fixture direct(server.url());
  actor b(direct);
  const auto url = url_by(proxy.port());
  SECTION("of a take") {
    zookeeper_fixture fixture(url);
    actor a(fixture);
    REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
    proxy.lose_next(tcp_proxy::loss::answer);
    REQUIRE(a.take("k").result == outcome::unknown);
    CHECK_FALSE(a.connection->usable());
    fault why;
    a.connection = a.store->connect(1s, why);
    CHECK(answer(b.take("k")) == outcome::no);  // it has arrived
    CHECK(answer(a.cancel("k", a.nonce)) == outcome::yes);
    CHECK(answer(b.take("k")) == outcome::yes);
  }
  SECTION("of a place in the queue") {
    zookeeper_fixture fixture(url);
    actor a(fixture);
    const auto fence = b.acquire("k");
    counting_listener listener;
    REQUIRE(answer(a.take("k")) == outcome::no);
    proxy.lose_next(tcp_proxy::loss::answer);
    stand_in_queue(a, listener);
    CHECK(nodes_of_key(server) == 2);  // the same one, found again
    REQUIRE(answer(b.release("k", fence)) == outcome::yes);
    REQUIRE(eventually([&] { return listener.calls() == 2; }));
    const auto granted = a.take("k");
    CHECK(answer(granted) == outcome::yes);
    CHECK(granted.fence > fence);
    CHECK(a.at("k").fence == granted.fence);
  }
  SECTION("of a place in the queue, whose request did not arrive") {
    zookeeper_fixture fixture(url);
    actor a(fixture);
    const auto fence = b.acquire("k");
    counting_listener listener;
    REQUIRE(answer(a.take("k")) == outcome::no);
    proxy.lose_next(tcp_proxy::loss::request);
    stand_in_queue(a, listener);
    CHECK(listener.works());
    // The polls for the one that was lost leave the other alone.
    for (int i = 0; i != 3; ++i) CHECK(a.renew(for_long) == outcome::yes);
    CHECK(nodes_of_key(server) == 2);
    REQUIRE(answer(b.release("k", fence)) == outcome::yes);
    REQUIRE(eventually([&] { return listener.calls() == 2; }));
    CHECK(answer(a.take("k")) == outcome::yes);
  }
  SECTION("of a service's") {
    lock_service locks(url);
    locks.acquire("k").release();
    proxy.lose_next(tcp_proxy::loss::answer);
    auto held = locks.acquire("k", {.wait = 20s});
    CHECK(nodes_of_key(server) == 1);
    held.release();
    CHECK(answer(b.take("k")) == outcome::yes);
  }
}

}  // namespace dlock::test
