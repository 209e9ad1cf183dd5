// SPDX-License-Identifier: BSL-1.0

#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

class calling_observer final : public observer {
 public:
  void on(const event& event) override {
    if (call) call(event);
  }
  std::function<void(const event&)> call;  // set before use
};

struct observer_fixture : engine_fixture {
  std::shared_ptr<calling_observer> watch = std::make_shared<calling_observer>();

  service_options watched() {
    auto settings = options();
    settings.observer = watch;
    return settings;
  }
  /// From now on `watch` stands still in an event of this kind, until `go_on`.
  void block_on(event::kind which) {
    watch->call = [this, which](const event& event) {
      if (event.what != which) return;
      blocked = true;
      static_cast<void>(eventually([&] { return go_on.load(); }, 60s));
    };
  }

  std::atomic<bool> blocked{false};
  std::atomic<bool> go_on{false};
};

}  // namespace

TEST_CASE_METHOD(observer_fixture, "observer: what it throws is counted and changes nothing", "[T93]") {
  watch->call = [](const event&) { throw std::runtime_error("observer"); };
  const auto locks = service(watched());
  auto held = locks->acquire("k");
  CHECK(held);
  store->next(session_verb::renew, {.what = fate::fail, .why = {.transient = true, .text = "hiccup"}});
  clock.advance(10s);
  CHECK(eventually([&] { return locks->count(event::kind::renewal_late) == 1; }));
  clock.advance(2s);
  CHECK(eventually([&] { return held.remaining() > 28s; }));
  held.release();
  CHECK(is_free("k"));
  // session opened, granted, renewal late, released
  CHECK(eventually([&] { return locks->count(event::kind::observer_failed) == 4; }));
}

TEST_CASE_METHOD(observer_fixture, "observer: one that blocks does not stop renewals", "[T93]") {
  block_on(event::kind::renewal_late);
  const auto locks = service(watched());
  const auto held = locks->acquire("k", {.ttl = 10s});
  store->next(session_verb::renew, {.what = fate::fail, .why = {.transient = true, .text = "hiccup"}});
  clock.advance(3400ms);
  REQUIRE(eventually([&] { return blocked.load(); }));
  clock.advance(500ms);
  CHECK(eventually([&] { return held.remaining() > 9s; }));
  CHECK(live_on(held, 60s, 10s));
  CHECK_FALSE(go_on);
  go_on = true;
}

TEST_CASE_METHOD(observer_fixture, "observer: one that blocks on a lost session does not stop another's renewals",
                 "[T93]") {
  block_on(event::kind::session_lost);
  const auto locks = service(watched());
  const auto forced = locks->acquire("forced", {.ttl = 10s});
  const auto held = locks->acquire("k", {.ttl = 15s});
  CHECK(locks->force_release("forced"));
  clock.advance(3400ms);
  REQUIRE(eventually([&] { return blocked.load(); }));
  CHECK(thrown([&] { forced.ensure_held(); }) == errc::lost);
  clock.advance(1600ms);
  CHECK(eventually([&] { return held.remaining() > 14s; }));
  CHECK(live_on(held, 60s, 15s));
  CHECK(eventually([&] { return is_free("forced"); }));
  go_on = true;
}

TEST_CASE_METHOD(observer_fixture, "observer: may call back into the service from every event", "[T93]") {
  lock_service* home = nullptr;
  std::atomic<int> calls{0};
  std::atomic<int> running{0};
  std::atomic<bool> enough{false};
  watch->call = [&](const event& event) {
    ++running;
    struct counted {
      std::atomic<int>& count;
      ~counted() { --count; }
    } const end{running};
    if (enough || home == nullptr || event.key.starts_with("inner") || event.what == event::kind::cleanup) return;
    thread_local bool inside = false;
    if (inside) return;
    inside = true;
    ++calls;
    const auto more = home->try_acquire("inner" + std::to_string(calls));
    static_cast<void>(home->holder("k"));
    inside = false;
  };
  const auto locks = service(watched());
  home = locks.get();
  auto held = locks->acquire("k", {.ttl = 10s});
  const auto again = locks->acquire("k");
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire("k")); }));
  store->next(session_verb::renew, {.what = fate::fail, .why = {.transient = true, .text = "hiccup"}});
  clock.advance(3400ms);
  CHECK(eventually([&] { return locks->count(event::kind::renewal_late) == 1; }));
  CHECK(locks->force_release("k"));
  clock.advance(1s);
  CHECK(is_lost(held));
  CHECK(eventually([&] { return calls >= 6; }));
  enough = true;  // a service must not be called while it ends
  CHECK(eventually([&] { return running == 0; }));
}

TEST_CASE_METHOD(with_service<observer_fixture>, "observer: is told what belongs to each event") {
  auto held = locks->acquire("k");
  clock.advance(1s);
  held.release();
  const auto records = seen->records();
  REQUIRE(records.size() == 3);
  CHECK(records[0].what == event::kind::session_opened);
  CHECK(records[0].text == store->opened()[0].hex());
  CHECK(records[1].what == event::kind::granted);
  CHECK(records[1].key == "k");
  CHECK(records[1].fence == 1);
  CHECK(records[2].what == event::kind::released);
  CHECK(records[2].fence == 1);
  for (const auto each : {event::kind::session_opened, event::kind::granted, event::kind::released}) {
    CHECK(locks->count(each) == 1);
  }
}

TEST_CASE_METHOD(observer_fixture, "observer: without one everything is counted just the same", "[T94]") {
  const auto locks = service([](auto& settings) { settings.observer = nullptr; });
  auto held = locks->acquire("k");
  CHECK(locks->force_release("k"));
  clock.advance(11s);
  CHECK(eventually([&] { return locks->count(event::kind::session_lost) == 1; }));
  CHECK(eventually([&] { return locks->count(event::kind::lost) == 1; }));
  CHECK(locks->count(event::kind::granted) == 1);
}

TEST_CASE_METHOD(with_service<observer_fixture>, "observer: many losses are each told once") {
  std::vector<lease> held;
  for (int i = 0; i < 2'000; ++i) held.push_back(locks->acquire("k" + std::to_string(i)));
  CHECK(locks->force_release("k0"));
  clock.advance(11s);
  CHECK(seen->wait_for(event::kind::lost, 2'000));
  CHECK(clock.at_rest());
  CHECK(at_rest_after(1500ms));
  CHECK(locks->held_keys().empty());
  CHECK(seen->count(event::kind::lost) == 2'000);
  CHECK(seen->wait_for(event::kind::session_lost));
}

TEST_CASE("observer: a tee hands each event to all, also where one of them throws") {
  struct failing final : observer {
    void on(const event&) override { throw std::runtime_error("mine"); }
  };
  const auto first = std::make_shared<recording_observer>();
  const auto second = std::make_shared<recording_observer>();
  const auto tee = make_tee_observer({first, std::make_shared<failing>(), second});
  lock_service locks{"memory:", {.observer = tee}};
  { const auto held = locks.acquire("k"); }
  CHECK(first->count(event::kind::granted) == 1);
  CHECK(second->count(event::kind::granted) == 1);
  CHECK(locks.count(event::kind::observer_failed) >= 1);
  CHECK_THROWS_AS(make_tee_observer({first, nullptr}), std::invalid_argument);
}

TEST_CASE("observer: all kinds of events are in one array, each with its name") {
  std::set<std::string_view> names;
  for (const auto kind : event_kinds) names.insert(to_string(kind));
  CHECK(names.size() == event_kinds.size());
  CHECK_FALSE(names.contains("unknown"));
}

TEST_CASE_METHOD(one_service, "gauges: keys that are held, each once, and calls that wait") {
  const auto theirs = foreign()->acquire("busy");
  CHECK(locks->held() == 0);
  auto held = locks->acquire("k");
  const auto both = locks->acquire_all({"a", "b"});
  const auto again = locks->acquire("k");
  CHECK(locks->held() == 3);
  CHECK(locks->waiting() == 0);
  std::thread at_store([&] { static_cast<void>(thrown([&] { return locks->acquire("busy", {.wait = 1s}); })); });
  std::thread queued([&] { static_cast<void>(thrown([&] { return locks->acquire("k", {.wait = 1s}); })); });
  CHECK(eventually([&] { return locks->waiting() == 2; }));
  while_time_passes([&] {
    at_store.join();
    queued.join();
  });
  CHECK(locks->waiting() == 0);
  held.release();
  CHECK(locks->held() == 3);
}
