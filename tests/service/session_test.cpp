// SPDX-License-Identifier: BSL-1.0

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"

namespace dlock::test {

namespace {

const lock_options by_hand{.ttl = 1h, .renewal = renewal::manual};

}  // namespace

TEST_CASE_METHOD(one_service, "session: one for each ttl class, shared by all threads") {
  const auto a = locks->acquire("a", {.ttl = 30s});
  const auto b = locks->acquire("b", {.ttl = 59s});  // the class of 30 s as well
  const auto c = locks->acquire("c", {.ttl = 60s});
  CHECK(store->opened().size() == 2);
  CHECK(locks->holder("a")->session == locks->holder("b")->session);
  CHECK(locks->holder("a")->session != locks->holder("c")->session);
}

TEST_CASE_METHOD(one_service, "session: many threads that need one at the same time open one") {
  on_threads(16, [&](int i) { locks->acquire("k" + std::to_string(i)).release(); });
  CHECK(store->opened().size() == 1);
}

TEST_CASE_METHOD(one_service, "session: an opening that fails frees those who wait for it") {
  const auto at = store->hold(session_verb::open, {.what = fate::fail, .why = denied});
  const concurrent_call failing([&] { return locks->acquire("a"); });
  REQUIRE(at->reached());
  bool granted_b = false;
  const concurrent_call waiting([&] { granted_b = granted(locks->acquire("b")); });
  at->open();
  CHECK(failing.end() == errc::store_failed);
  CHECK_FALSE(waiting.end());
  CHECK(granted_b);
}

TEST_CASE_METHOD(one_service, "session: an opening without an answer is never used") {
  store->next(session_verb::open, {.what = fate::drop});
  const auto held = while_time_passes([&] { return locks->acquire("k"); });
  REQUIRE(store->opened().size() == 2);
  CHECK(locks->holder("k")->session == store->opened()[1]);
}

TEST_CASE_METHOD(one_service, "session: trust counts from the sending of its opening, not from the answer", "[T29]") {
  store->next(session_verb::open, {.during = [&] { clock.advance(1s); }});
  const auto held = locks->acquire("k");
  CHECK(held.remaining() == 28500ms - 1s);
}

TEST_CASE_METHOD(engine_fixture, "session: services never share one", "[T04]") {
  const auto first = service();
  const auto second = service();
  const auto a = first->acquire("a");
  const auto b = second->acquire("b");
  CHECK(first->holder("a")->session != first->holder("b")->session);
  CHECK(first->holder("a")->host == first->holder("b")->host);
  CHECK(first->holder("a")->pid == first->holder("b")->pid);
}

TEST_CASE_METHOD(one_service, "session: once retired, its leases are released by its id and the next has another") {
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

TEST_CASE_METHOD(one_service, "session: a late session takes no new lease") {
  locks->acquire("k").release();
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  clock.advance(29s);  // the server would still accept it
  const auto held = locks->acquire("k");
  CHECK(store->opened().size() == 2);
  CHECK(locks->holder("k")->session == store->opened()[1]);
  CHECK(held.remaining() == 28500ms);
}

TEST_CASE_METHOD(one_service, "session: leases with an expiry of their own outlive it", "[T90]") {
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

TEST_CASE_METHOD(one_service, "session: another server than before proves nothing, every lease is lost", "[T59]") {
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

TEST_CASE_METHOD(one_service, "session: one that is being opened at the former server is opened anew", "[T59]") {
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

TEST_CASE_METHOD(one_service, "session: another server also ends leases whose session is gone", "[T59]") {
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

TEST_CASE_METHOD(one_service, "session: the same server again is no change", "[T59]") {
  const auto kept = locks->acquire("kept");
  store->next(session_verb::renew, {.what = fate::drop, .times = 2});
  clock.advance(10s);
  CHECK(as_time_passes([&] { return store->count(session_verb::renew) >= 3; }, 10ms));
  CHECK_NOTHROW(kept.ensure_held());
  CHECK(seen->count(event::kind::session_lost) == 0);
}

// Clean-up as the background does it: how often, how much at one time, and what it must not hold up.

namespace {

struct sweep_fixture : engine_fixture {
  service_options sweeping() {
    auto settings = options();
    settings.cleanup_interval = 1min;
    settings.key_retention = 10min;
    return settings;
  }
  /// So many keys that nobody will ask for again, idle for long.
  void leave_keys(int many) {
    const auto busy = foreign();
    for (int i = 0; i != many; ++i) busy->acquire("order:" + std::to_string(i)).release();
    clock.advance(20min);
  }
  std::size_t sweeps() const { return store->count(other_verb::cleanup); }
  /// Time passes until so many sweeps are over.
  bool pass_until_sweep(std::size_t many) {
    return eventually([&] {
      if (sweeps() < many) clock.advance(many == 1 ? 1s : 5ms);
      return sweeps() >= many;
    });
  }
};

}  // namespace

TEST_CASE_METHOD(sweep_fixture, "sweep: goes on while there is work, not once a minute", "[T58]") {
  leave_keys(1000);
  const auto locks = service(sweeping());
  REQUIRE(pass_until_sweep(1));
  const auto begun = clock.now();
  for (std::size_t step = 2; step <= 51; ++step) REQUIRE(pass_until_sweep(step));
  CHECK(clock.now() - begun < 10min);
  const auto left = foreign();
  for (const char* key : {"order:0", "order:500", "order:999"}) CHECK(left->acquire(key).fencing_token() == 2);
  // With nothing left it looks once a minute again.
  clock.advance(59s);
  CHECK(sweeps() == 51);
  CHECK(pass_until_sweep(52));
  CHECK(locks->count(event::kind::cleanup) < 20);  // not one for each step
}

TEST_CASE_METHOD(sweep_fixture, "sweep: what else there is to do in the background need not wait for a step") {
  leave_keys(200);
  auto options = sweeping();
  options.margin = 1ms;  // so long a lost key stays
  const auto locks = service(options);
  REQUIRE(pass_until_sweep(1));
  const auto held = locks->acquire("k", {.ttl = 20h, .renewal = renewal::none, .max_hold = 1h});
  bool was_free = false;
  // In the middle of the next step the time of a lease is over, and its key is to be freed.
  store->next(other_verb::cleanup, {.during = [&] {
                clock.advance(1h);
                CHECK(is_lost(held));
                clock.advance(1ms);  // the margin that its holder has
                was_free = eventually([&] { return is_free("k"); });
              }});
  REQUIRE(pass_until_sweep(2));
  CHECK(was_free);
  CHECK(sweeps() == 2);
}

TEST_CASE_METHOD(sweep_fixture, "sweep: the end of a service does not wait for one") {
  leave_keys(5);
  auto locks = service(sweeping());
  const auto hanging = store->hold(other_verb::cleanup);  // and is never opened
  REQUIRE(as_time_passes([&] { return hanging->is_reached(); }, 1min));
  locks.reset();
  CHECK(eventually([&] { return store->connections() == 0; }));
}

TEST_CASE_METHOD(sweep_fixture, "sweep: keys are idle for as long as the option says", "[T10]") {
  auto options = sweeping();
  options.key_retention = 17min;
  const auto locks = service(options);
  REQUIRE(pass_until_sweep(1));
  CHECK(store->idle() == 17min);
}

TEST_CASE_METHOD(sweep_fixture, "sweep: a failure is tried again with the next look, not at once") {
  leave_keys(100);
  const auto locks = service(sweeping());
  store->next(other_verb::cleanup, {.what = fate::fail, .why = {.native = 1205, .transient = true, .text = "busy"}});
  REQUIRE(pass_until_sweep(1));
  clock.advance(59s);
  CHECK(sweeps() == 1);
  CHECK(pass_until_sweep(2));
}

// Objects that live as long as their thread lock and let go when that ends, after what the library keeps for the
// thread.

namespace {

/// Destroyed at the end of its thread. What was made before the thread first locked is destroyed after all that the
/// library has made for it then.
struct last_will {
  std::function<void()> act{};
  ~last_will() {
    if (act) act();
  }
};
thread_local last_will will{};

void at_the_end_of_a_thread(std::function<void()> begin, std::function<void()> end) {
  std::thread([&] {
    will.act = std::move(end);
    begin();
  }).join();
}

}  // namespace

TEST_CASE_METHOD(one_service, "thread end: what is locked and let go there is taken and freed") {
  int entered = 0;
  at_the_end_of_a_thread([&] { locks->acquire("k").release(); },
                         [&] {
                           const auto mine = locks->acquire("k");
                           if (locks->acquire("k").reentered()) ++entered;
                           const owner_scope here{owner{}};
                           if (granted(locks->acquire("other"))) ++entered;
                         });
  CHECK(entered == 2);
  CHECK(is_free("k"));
  CHECK(is_free("other"));
}

TEST_CASE_METHOD(one_service, "thread end: a lease that lives as long as the thread is let go with it") {
  std::optional<lease> held;
  at_the_end_of_a_thread([&] { held = locks->acquire("k"); }, [&] { held.reset(); });
  CHECK(is_free("k"));
  CHECK(store->count(verb::release) == 1);
}

TEST_CASE_METHOD(one_service, "thread end: a mutex that is locked until then is unlocked there") {
  distributed_mutex door(*locks, "k");
  distributed_mutex gate(*locks, "g");
  at_the_end_of_a_thread([&] { const std::scoped_lock both(door, gate); },
                         [&] { const std::scoped_lock both(gate, door); });
  CHECK(is_free("k"));
  CHECK(is_free("g"));
}

}  // namespace dlock::test
