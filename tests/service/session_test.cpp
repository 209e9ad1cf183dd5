// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

const lock_options by_hand{.ttl = 1h, .renewal = renewal::manual};

}  // namespace

TEST_CASE_METHOD(engine_fixture, "session: one for each ttl class, shared by all threads", "[session]") {
  const auto locks = service();
  const auto a = locks->acquire("a", {.ttl = 30s});
  const auto b = locks->acquire("b", {.ttl = 59s});  // the class of 30 s as well
  const auto c = locks->acquire("c", {.ttl = 60s});
  CHECK(store->opened().size() == 2);
  CHECK(locks->holder("a")->session == locks->holder("b")->session);
  CHECK(locks->holder("a")->session != locks->holder("c")->session);
}

TEST_CASE_METHOD(engine_fixture, "session: many threads that need one at the same time open one", "[session]") {
  const auto locks = service();
  on_threads(16, [&](int i) { locks->acquire("k" + std::to_string(i)).release(); });
  CHECK(store->opened().size() == 1);
}

TEST_CASE_METHOD(engine_fixture, "session: an opening that fails frees those who wait for it", "[session]") {
  const auto locks = service();
  const auto at = store->hold(session_verb::open, {.what = fate::fail, .why = denied});
  std::error_code first;
  std::thread failing([&] { first = thrown([&] { return locks->acquire("a"); }); });
  REQUIRE(at->reached());
  lease second;
  std::thread waiting([&] { second = locks->acquire("b"); });
  at->open();
  failing.join();
  waiting.join();
  CHECK(first == errc::store_failed);
  CHECK(second);
}

TEST_CASE_METHOD(engine_fixture, "session: an opening without an answer is never used", "[session]") {
  const auto locks = service();
  store->next(session_verb::open, {.what = fate::drop});
  const auto held = while_time_passes([&] { return locks->acquire("k"); });
  REQUIRE(store->opened().size() == 2);
  CHECK(locks->holder("k")->session == store->opened()[1]);
}

TEST_CASE_METHOD(engine_fixture, "session: trust counts from the sending of its opening, not from the answer",
                 "[session][T29]") {
  const auto locks = service();
  store->next(session_verb::open, {.during = [&] { clock.advance(1s); }});
  const auto held = locks->acquire("k");
  CHECK(held.remaining() == 28500ms - 1s);
}

TEST_CASE_METHOD(engine_fixture, "session: services never share one", "[session][T04]") {
  const auto first = service();
  const auto second = service();
  const auto a = first->acquire("a");
  const auto b = second->acquire("b");
  CHECK(first->holder("a")->session != first->holder("b")->session);
  CHECK(first->holder("a")->host == first->holder("b")->host);
  CHECK(first->holder("a")->pid == first->holder("b")->pid);
}

TEST_CASE_METHOD(engine_fixture, "session: once retired, its leases are released by its id and the next has another",
                 "[session]") {
  const auto locks = service();
  const auto old = locks->acquire("k");
  const auto before = locks->holder("k")->session;
  store->next(session_verb::renew, {.what = fate::drop, .times = 1000});
  clock.advance(28500ms);
  REQUIRE(is_lost(old));
  store->forget_scripts();
  CHECK(clock.at_rest());
  CHECK(fence_of("k") == 1);
  CHECK(at_rest_after(1500ms));
  CHECK(fence_of("k") == 0);
  const auto next = locks->acquire("other");
  CHECK(locks->holder("other")->session != before);
  CHECK(seen->wait_for(event::kind::session_lost));
  CHECK(eventually([&] { return store->count(session_verb::close) == 1; }));
}

TEST_CASE_METHOD(engine_fixture, "session: a late session takes no new lease", "[session]") {
  const auto locks = service();
  locks->acquire("k").release();
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  clock.advance(29s);  // the server would still accept it
  const auto held = locks->acquire("k");
  CHECK(store->opened().size() == 2);
  CHECK(locks->holder("k")->session == store->opened()[1]);
  CHECK(held.remaining() == 28500ms);
}

TEST_CASE_METHOD(engine_fixture, "session: leases with an expiry of their own outlive it", "[session][T90]") {
  auto locks = service();
  auto own = locks->acquire("own", by_hand);
  const auto kept = locks->acquire("kept");
  CHECK(locks->force_release("kept"));
  clock.advance(11s);
  REQUIRE(is_lost(kept));
  CHECK_NOTHROW(own.ensure_held());
  CHECK_FALSE(own.lost_token().stop_requested());
  CHECK(locks->close(0ms) == std::vector<std::string>{"own"});
  own.renew();
  CHECK(own.remaining() > 50min);
  own.release();
  CHECK(is_free("own"));
  CHECK(locks->close(0ms).empty());
}

TEST_CASE_METHOD(engine_fixture, "session: another server than before proves nothing, every lease is lost",
                 "[session][T59]") {
  const auto locks = service();
  const auto kept = locks->acquire("kept");
  const auto own = locks->acquire("own", by_hand);
  store->change_server("other");
  store->next(session_verb::renew, {.what = fate::drop});  // breaks the connection: the next goes elsewhere
  clock.advance(10s);
  clock.advance(2s);
  CHECK(as_time_passes([&] { return kept.lost_token().stop_requested() && own.lost_token().stop_requested(); }, 10ms));
  CHECK(kept.loss() == loss_reason::server_changed);
  CHECK(own.loss() == loss_reason::server_changed);
}

TEST_CASE_METHOD(engine_fixture, "session: one that is being opened at the former server is opened anew",
                 "[session][T59]") {
  const auto locks = service();
  locks->acquire("warm", by_hand).release();  // has a connection
  const auto at = store->hold(session_verb::open);
  lease held;
  std::thread opening([&] { held = locks->acquire("k", {.ttl = 60s}); });
  REQUIRE(at->reached());
  store->change_server("other");
  elsewhere([&] { locks->acquire("x", {.ttl = 5s}).release(); });  // by a connection of its own
  at->open();
  opening.join();
  CHECK(locks->holder("k")->session == store->opened().back());  // not the first that it asked for
  CHECK(live_on(held, 2min, 60s));
}

TEST_CASE_METHOD(engine_fixture, "session: another server also ends leases whose session is gone", "[session][T59]") {
  const auto locks = service();
  const auto own = locks->acquire("own", by_hand);
  const auto kept = locks->acquire("kept");
  CHECK(locks->force_release("kept"));
  clock.advance(11s);
  REQUIRE(is_lost(kept));
  store->change_server("other");
  store->next(verb::take, {.what = fate::vanish});
  static_cast<void>(thrown([&] { return locks->try_acquire("x"); }));  // breaks a connection and makes another
  CHECK(is_lost(own));
  CHECK(own.loss() == loss_reason::server_changed);
}

TEST_CASE_METHOD(engine_fixture, "session: the same server again is no change", "[session][T59]") {
  const auto locks = service();
  const auto kept = locks->acquire("kept");
  store->next(session_verb::renew, {.what = fate::drop, .times = 2});
  clock.advance(10s);
  CHECK(as_time_passes([&] { return store->count(session_verb::renew) >= 3; }, 10ms));
  CHECK_NOTHROW(kept.ensure_held());
  CHECK(seen->count(event::kind::session_lost) == 0);
}
