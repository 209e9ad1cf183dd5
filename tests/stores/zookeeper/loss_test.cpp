// SPDX-License-Identifier: BSL-1.0

/// What a holder learns at once: its node or its session was deleted, its session was ended. And what becomes of a
/// session that was given up while no server could be reached.

#include "dlock/lock_service.hpp"
#include "stores/zookeeper/recipe/session.hpp"
#include "stores/zookeeper/zookeeper_fixtures.hpp"
#include "support/recording_observer.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

using namespace stores::zookeeper;

namespace {

/// A ttl whose first renewal is due in ten minutes: what is learned before that is learned without one.
service_options long_lived() { return {.defaults = {.ttl = 30min}, .close_limit = 0ms}; }

bool lost(const lease& held) {
  return eventually([&] { return held.lost_token().stop_requested(); }, 20s);
}

}  // namespace

TEST_CASE("zookeeper: a holder whose node somebody deletes loses its lease at once, and no other one") {
  const zookeeper_server server;
  lock_service locks(server.url(), long_lived());
  const lease held = locks.acquire("k");
  const lease other = locks.acquire("other");
  other_client somebody(server.url());
  const auto nodes = somebody.below("/dlock/k");
  REQUIRE(nodes.size() == 1);
  somebody.remove("/dlock/k/" + nodes.front());
  CHECK(lost(held));
  CHECK(held.loss() == loss_reason::taken_over);
  CHECK_THROWS_AS(held.ensure_held(), lock_lost);
  CHECK_NOTHROW(other.ensure_held());
}

TEST_CASE_METHOD(own_zookeeper, "zookeeper: a holder that waited for its node learns of its deletion, too") {
  actor before(fixture);
  const auto fence = before.acquire("k");
  lock_service locks(server.url(), long_lived());
  auto waiting = std::async(std::launch::async, [&] { return locks.acquire("k", {.wait = 60s}); });
  REQUIRE(eventually([&] { return nodes_of_key(server) == 2; }));
  REQUIRE(answer(before.release("k", fence)) == outcome::yes);
  const lease held = waiting.get();
  other_client somebody(server.url());
  somebody.remove("/dlock/k/" + somebody.below("/dlock/k").front());
  CHECK(lost(held));
  CHECK(held.loss() == loss_reason::taken_over);
}

TEST_CASE("zookeeper: a release is not taken for a deletion by somebody else") {
  const zookeeper_server server;
  const auto observer = std::make_shared<recording_observer>();
  auto options = long_lived();
  options.observer = observer;
  lock_service locks(server.url(), options);
  for (int i = 0; i != 50; ++i) locks.acquire("k").release();
  CHECK(observer->count(event::kind::lost) == 0);
}

TEST_CASE("zookeeper: a lease whose session's node is deleted is lost at once, as by force_release") {
  const zookeeper_server server;
  lock_service locks(server.url(), long_lived()), admin(server.url());
  const lease held = locks.acquire("k");
  REQUIRE(admin.force_release("k"));
  CHECK(lost(held));
  CHECK(held.loss() == loss_reason::renewal_refused);
}

TEST_CASE_METHOD(proxied_zookeeper, "zookeeper: a lease whose connection breaks is renewed at once") {
  lock_service locks(url_by(proxy.port()), long_lived());
  const lease held = locks.acquire("k");
  const auto first = held.remaining();
  REQUIRE(eventually([&] { return held.remaining() < first - 500ms; }));
  const auto before = held.remaining();
  const auto seen = proxy.accepted();
  proxy.cut();
  proxy.mend();
  REQUIRE(eventually([&] { return proxy.accepted() > seen; }));
  // It only grows by a renewal, which would be due in ten minutes.
  CHECK(eventually([&] { return held.remaining() > before; }, 20s));
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE("zookeeper: a session that was given up while no server answered ends as soon as one does") {
  zookeeper_server server;
  tcp_proxy proxy(server.port());
  zookeeper_fixture direct(server.url()), through(url_by(proxy.port()));
  actor a(through, 60s), b(direct);  // a's session would live for 90 s
  a.acquire("k");
  SECTION("its connection was closed") { proxy.cut(); }
  SECTION("its connection is silent") { proxy.fall_silent(); }
  CHECK(a.store->session(*a.connection, session_verb::close, {.id = a.id}).result == outcome::unknown);
  CHECK(answer(b.take("k")) == outcome::no);
  proxy.mend();
  CHECK(eventually([&] { return b.take("k").result == outcome::yes; }, 20s));
}

TEST_CASE_METHOD(proxied_zookeeper,
                 "zookeeper: a store that ends before the servers are back waits for none of its sessions") {
  zookeeper_fixture through(url_by(proxy.port()));
  actor a(through);
  proxy.cut();
  REQUIRE(eventually(
      [&] { return a.store->session(*a.connection, session_verb::close, {.id = a.id}).result != outcome::yes; }));
  const auto begun = std::chrono::steady_clock::now();
  a.connection.reset();
  a.store.reset();
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
}

}  // namespace dlock::test
