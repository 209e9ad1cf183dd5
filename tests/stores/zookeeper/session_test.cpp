// SPDX-License-Identifier: BSL-1.0

/// What becomes of leases when the connection to the servers, a server, or the session is lost.

#include "stores/zookeeper/recipe/session.hpp"
#include "dlock/lock_service.hpp"
#include "stores/zookeeper/client/connection.hpp"
#include "stores/zookeeper/zookeeper_fixtures.hpp"
#include "support/forked_child.hpp"
#include "support/recording_observer.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

TEST_CASE_METHOD(proxied_zookeeper,
                 "zookeeper: a lease whose session the servers have ended is lost, before anybody else has its key",
                 "[T30][T91]") {
  const auto observer = std::make_shared<recording_observer>();
  lock_service cut_off(url_by(proxy.port()), {.defaults = {.ttl = 5s}, .close_limit = 0ms, .observer = observer});
  lock_service locks(server.url());
  const lease held = cut_off.acquire("k");
  proxy.fall_silent();
  const lease next = locks.acquire("k", {.wait = 20s});
  CHECK(held.remaining() == 0us);
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
  CHECK(held.loss() == loss_reason::unreachable);
  CHECK(observer->count(event::kind::renewal_late) > 0);  // it was told of the silence before
  proxy.mend();
  CHECK(granted(cut_off.acquire("other", {.wait = 20s})));
  CHECK_NOTHROW(next.ensure_held());
}

TEST_CASE_METHOD(proxied_zookeeper,
                 "zookeeper: a connection that is lost and found again within the ttl costs nobody a lease") {
  lock_service locks(url_by(proxy.port()), {.defaults = {.ttl = 10s}});
  lock_service other(server.url());
  lease held = locks.acquire("k");
  const lease theirs = other.acquire("theirs");
  const auto seen = proxy.accepted();
  proxy.cut();
  proxy.mend();
  REQUIRE(eventually([&] { return proxy.accepted() > seen; }));
  REQUIRE(renewed(held));
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(granted(other.try_acquire("k")));
  held.release();
  CHECK(granted(other.try_acquire("k")));
}

TEST_CASE_METHOD(proxied_zookeeper, "zookeeper: a server that falls silent is left for another one before leases end") {
  const auto url = url_by(proxy.port()) + "," + server.address();
  std::unique_ptr<lock_service> locks;
  do {  // the library chooses at random
    locks = std::make_unique<lock_service>(url, service_options{.defaults = {.ttl = 10s}});
    locks->acquire("warm up").release();
  } while (proxy.connected() == 0);
  lease held = locks->acquire("k");
  proxy.fall_silent();
  REQUIRE(renewed(held));
  CHECK_NOTHROW(held.ensure_held());
  CHECK_FALSE(granted(lock_service(server.url()).try_acquire("k")));
  held.release();
  CHECK(granted(lock_service(server.url()).try_acquire("k")));
}

TEST_CASE("zookeeper: a server that is left while it answers does not end the session") {
  using namespace stores::zookeeper;
  const zookeeper_server server;
  zookeeper_handle handle(settings_of(server.url()), 3s);
  zookeeper_connection on("servers", 10s);
  REQUIRE(on.wait_connected(handle).code == ZOK);
  const auto ask = [&](auto send) { return on.ask(send).code; };
  REQUIRE(ask([&](on_answer done) { handle.create("/held", "", ZOO_EPHEMERAL, std::move(done)); }) == ZOK);
  for (int i = 0; i < 5; ++i) {
    handle.reconnect();
    REQUIRE(on.wait_connected(handle).code == ZOK);
    REQUIRE(ask([&](on_answer done) { handle.sync("/held", std::move(done)); }) == ZOK);
    REQUIRE(ask([&](on_answer done) { handle.read("/held", std::move(done)); }) == ZOK);
  }
}

TEST_CASE("zookeeper: what was interrupted is not used again") {
  using namespace stores::zookeeper;
  zookeeper_handle nowhere(settings_of(url_by(1)), 3s);
  zookeeper_connection brief("servers", 1ms);
  CHECK(brief.wait_connected(nowhere).lost());
  CHECK(brief.usable());
  zookeeper_connection on("servers", 10s);
  on.interrupt();
  CHECK(on.wait_connected(nowhere).lost());
  CHECK_FALSE(on.usable());
}

TEST_CASE("zookeeper: who has stopped waiting for a connection leaves nothing behind") {
  using namespace stores::zookeeper;
  zookeeper_handle nowhere(settings_of(url_by(1)), 3s);
  zookeeper_connection on("servers", 1ms);
  nowhere.when_connected([](const stores::zookeeper::answer&) {});  // goes on waiting
  for (int i = 0; i != 10; ++i) CHECK(on.wait_connected(nowhere).lost());
  CHECK(nowhere.waiting() == 1);
}

TEST_CASE("zookeeper: a session that was given up during an outage ends as soon as a server is back") {
  const zookeeper_server server;
  lock_service locks(server.url(), {.close_limit = 0ms});
  lock_service others(server.url(), {.close_limit = 0ms});
  const lease held = locks.acquire("k", {.ttl = 10s});
  server.stop();
  REQUIRE(eventually([&] { return held.lost_token().stop_requested(); }, 20s));
  std::this_thread::sleep_for(1s);  // until the service has given the session up
  server.go_on();
  const auto back = std::chrono::steady_clock::now();
  CHECK(granted(others.acquire("k", {.wait = 30s})));
  CHECK(std::chrono::steady_clock::now() - back < 10s);  // of the session's timeout of 15 s
}

TEST_CASE("zookeeper: a server that is killed and started again has all locks", "[T60]") {
  zookeeper_server server;
  lock_service locks(server.url(),
                     {.defaults = {.ttl = 60s}, .release_limit = 20s});  // it may be back later than the other
  lock_service other(server.url());
  lease held = locks.acquire("k");
  const auto fence = held.fencing_token();
  server.kill();
  server.start();
  CHECK_FALSE(other.acquire("other", {.wait = 60s}).reentered());  // there again
  CHECK_FALSE(granted(other.try_acquire("k")));
  CHECK_NOTHROW(held.ensure_held());
  held.release();
  CHECK(other.acquire("k", {.wait = 60s}).fencing_token() > fence);
}

TEST_CASE_METHOD(own_zookeeper,
                 "zookeeper: a renewal that is too far from the one before proves too little and is no yes") {
  actor a(fixture, 4s);  // its session lives for 6 s
  std::this_thread::sleep_for(2800ms);
  const auto renew = [&] { return a.store->session(*a.connection, session_verb::renew, {.id = a.id, .ttl = 4s}); };
  const auto late = renew();
  CHECK(late.result == outcome::unknown);
  CHECK(late.why.transient);
  // Its server may not have told the leader of that one yet, either.
  CHECK(renew().result == outcome::unknown);
  CHECK(eventually([&] {
    std::this_thread::sleep_for(1200ms);  // more than a quarter of the ttl, and not too far
    return renew().result == outcome::yes;
  }));
}

TEST_CASE("zookeeper: a renewal is proved by one that was answered long enough before it was sent") {
  using namespace stores::zookeeper;
  const auto nowhere = settings_of(url_by(1));
  const auto begun = boot_clock::now();
  const auto after = [&](int ms) { return begun + std::chrono::milliseconds{ms}; };
  SECTION("a quarter of the ttl") {
    zookeeper_session session(std::make_shared<zookeeper_handle>(nowhere, 1500ms), {.timeout_ms = 1500}, begun);
    CHECK(session.renewed(after(330), after(331), 1s));
    CHECK(session.renewed(after(660), after(661), 1s));
    // Nothing for long: what is known is that of 660.
    CHECK_FALSE(session.renewed(after(1400), after(1401), 1s));
    CHECK_FALSE(session.renewed(after(1402), after(1403), 1s));
    CHECK_FALSE(session.renewed(after(1640), after(1641), 1s));
    CHECK(session.renewed(after(1660), after(1661), 1s));
    // Answered late: it may have come late.
    CHECK(session.renewed(after(1900), after(2100), 1s));
    CHECK_FALSE(session.renewed(after(2340), after(2341), 1s));
    CHECK(session.renewed(after(2360), after(2361), 1s));
  }
  SECTION("more where the servers keep it for longer") {
    zookeeper_session session(std::make_shared<zookeeper_handle>(nowhere, 4s), {.timeout_ms = 4000}, begun);
    for (int ms = 330; ms < 10'000; ms += 330) CHECK(session.renewed(after(ms), after(ms + 1), 1s));
    CHECK_FALSE(session.renewed(after(14'000), after(14'001), 1s));
    CHECK_FALSE(session.renewed(after(15'000), after(15'001), 1s));
    CHECK(session.renewed(after(15'510), after(15'511), 1s));
  }
  SECTION("by the timeout that the last server has agreed to") {
    zookeeper_session session(std::make_shared<zookeeper_handle>(nowhere, 1200ms), {.timeout_ms = 1500}, begun);
    CHECK_FALSE(session.renewed(after(330), after(331), 1s));
  }
}

TEST_CASE_METHOD(own_zookeeper,
                 "zookeeper: a forked child that destroys its parent's store leaves the parent's session alone",
                 "[T47]") {
  actor parent(fixture), other(fixture);
  parent.acquire("k");
  CHECK(in_child([&] { return parent.connection.reset(), parent.store.reset(), 0; }) == 0);
  CHECK(parent.renew(for_long) == outcome::yes);
  CHECK(answer(other.take("k")) == outcome::no);
}

TEST_CASE("zookeeper: a forked child does not wait for the end of a handle that its parent is leaving", "[T47]") {
  using namespace stores::zookeeper;
  const zookeeper_server server;
  auto handle = std::make_unique<zookeeper_handle>(settings_of(server.url()), 10s);
  REQUIRE(eventually([&] { return handle->connected(); }));
  server.stop();
  for (int i = 0; i != 8; ++i) handle->reconnect();  // some of them are still being ended
  CHECK(in_child([&] { return handle.reset(), 0; }) == 0);
  server.go_on();
}

}  // namespace dlock::test
