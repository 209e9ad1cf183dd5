// SPDX-License-Identifier: BSL-1.0

// What asynchronous calls promise: who is told, when, where, and of what.

#include "service/async_fixture.hpp"
#include "service/fake_transactions.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

/// A handler that must not be called.
template <class... Results>
async_handler<Results...> never() {
  return [](const std::exception_ptr&, Results...) { FAIL("a handler was called"); };
}

/// For a call that is refused: whether its handler was destroyed, and not called.
struct uncalled {
  std::shared_ptr<int> alive = std::make_shared<int>(0);
  async_handler<lease> handler() {
    return [alive = alive](const std::exception_ptr&, lease) { ++*alive; };
  }
  bool holds() const { return *alive == 0 && alive.use_count() == 1; }
};

}  // namespace

// ---- how it is called -----------------------------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: what is wrong with the call is thrown by it, and the handler is not called") {
  uncalled then;
  CHECK_THROWS_AS(home->async_acquire("k", {.ttl = 1ms}, then.handler()), std::invalid_argument);
  CHECK_THROWS_AS(home->async_try_acquire("k", {.wait = -1ms}, then.handler()), std::invalid_argument);
  CHECK(then.holds());
  CHECK_THROWS_AS(home->async_acquire_all({"a", "b"}, {.ttl = 1ms}, never<multi_lease>()), std::invalid_argument);
  CHECK_THROWS_AS(home->async_acquire("k", {}, std::function<void(std::exception_ptr, lease)>()),
                  std::invalid_argument);
  lease none;
  CHECK_THROWS_AS(async_release(std::move(none), never<>()), std::logic_error);
  multi_lease nothing;
  CHECK_THROWS_AS(async_release(std::move(nothing), never<>()), std::logic_error);
  CHECK_THROWS_AS(async_renew(none, never<>()), std::logic_error);
  const auto renewed = home->acquire("r");
  CHECK_THROWS_AS(async_renew(renewed, never<>()), std::logic_error);
  const auto by_hand = home->acquire("m", {.renewal = renewal::manual});
  CHECK_THROWS_AS(async_renew(by_hand, 1ms, never<>()), std::invalid_argument);
  auto held = home->acquire("h");
  CHECK_THROWS_AS(async_release(std::move(held), std::function<void(std::exception_ptr)>()), std::invalid_argument);
  CHECK(held);
  settle();
  CHECK(home->count(event::kind::granted) == 3);
}

TEST_CASE_METHOD(async_fixture,
                 "async: what ends a call is told to its handler, once, and not by the caller's thread") {
  const auto theirs = held_elsewhere("busy", {.ttl = 1h});
  std::stop_source stop;
  stop.request_stop();
  async_lock granted(*this, "k"), busy(*this, "busy", {.wait = 0s});
  async_lock cancelled(*this, "c", {.cancel = stop.get_token()});
  const auto taking = store->hold(verb::insert);
  for (auto* each : {&granted, &busy, &cancelled}) each->acquire();
  REQUIRE(taking->reached());
  taking->open();
  settle();
  for (const auto* each : {&granted, &busy, &cancelled}) {
    REQUIRE(each->over());
    CHECK(each->on() == granted.on());
    CHECK(each->on() != std::this_thread::get_id());
  }
  CHECK(granted.held());
  CHECK(busy.end() == errc::timed_out);
  CHECK(cancelled.end() == errc::cancelled);
  CHECK(fence_of("c") == 0);
  home->close(0ms);
  async_lock late(*this, "late");
  late.acquire();
  settle();
  CHECK(late.over());
  CHECK(late.end() == errc::closed);
}

TEST_CASE_METHOD(async_fixture, "async: a try of a busy key gives an empty lease") {
  const auto theirs = held_elsewhere("k", {.ttl = 1h});
  int handled = 0;
  home->async_try_acquire("k", {}, [&](const std::exception_ptr& failure, const lease& held) {
    handled += failure == nullptr && !held ? 1 : 100;
  });
  home->async_try_acquire_all({"a", "k"}, {}, [&](const std::exception_ptr& failure, const multi_lease& held) {
    handled += failure == nullptr && !held ? 1 : 100;
  });
  settle();
  CHECK(handled == 2);
  CHECK(is_free("a"));
}

TEST_CASE_METHOD(async_fixture, "async: two calls on one thread exclude each other, and blocking calls") {
  async_lock first(*this, "k"), second(*this, "k");
  first.acquire();
  second.acquire();
  settle();
  CHECK(first.over());
  CHECK_FALSE(second.over());
  CHECK_FALSE(granted(home->try_acquire("k")));
  CHECK_FALSE(home->holds("k"));
  first.release();
  settle();
  CHECK(second.held());
}

TEST_CASE_METHOD(async_fixture, "async: an owner_scope at the call says who asks, and he enters again") {
  const owner me;
  async_lock first(*this, "k"), again(*this, "k", {.wait = 0s}), foreign_here(*this, "k", {.wait = 0s});
  {
    const owner_scope here{me};
    first.acquire();
  }
  settle();
  {
    const owner_scope here{me};
    again.acquire();
    CHECK(home->holds("k"));
  }
  foreign_here.acquire();
  settle();
  CHECK(again.held().reentered());
  CHECK(again.held().fencing_token() == first.held().fencing_token());
  CHECK(foreign_here.end() == errc::timed_out);
  first.release();
  settle();
  CHECK(first.released());
  CHECK_FALSE(is_free("k"));
  again.release();
  settle();
  CHECK(is_free("k"));
}

// ---- handlers -------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: a handler that blocks keeps up other handlers, and nothing else") {
  const auto inside = std::make_shared<gate>();
  home->async_acquire("first", {}, [inside](const std::exception_ptr&, const lease&) { inside->pass(); });
  REQUIRE(inside->reached());
  async_lock mine(*this, "mine");
  mine.acquire();
  settle({.busy = 1});
  CHECK(fence_of("mine") != 0);  // granted, and nobody can be told
  CHECK_FALSE(mine.over());
  // Renewals, blocking calls, and those that wait for them.
  const auto held = home->acquire("held", {.ttl = 5s});
  for (int i = 0; i < 10; ++i) settle_after(2s, {.busy = 1});
  CHECK(held.remaining() > 2s);
  CHECK(seen->count(event::kind::lost) == 0);
  elsewhere([&] { home->acquire("other").release(); });
  inside->open();
  settle();
  CHECK(mine.over());
  CHECK(mine.held());
}

TEST_CASE_METHOD(async_fixture, "async: what failed lets go before its handler is called") {
  auto theirs = held_elsewhere("k", {.ttl = 1h});
  const auto inside = std::make_shared<gate>();
  home->async_acquire("first", {}, [inside](const std::exception_ptr&, const lease&) { inside->pass(); });
  REQUIRE(inside->reached());
  async_lock gives_up(*this, "k", {.wait = 1s});
  gives_up.acquire();
  settle({.busy = 1});
  settle_after(2s, {.busy = 1});
  CHECK_FALSE(gives_up.over());  // it has the turn no more, though nobody has been told
  theirs.release();
  elsewhere([&] { home->acquire("k", {.wait = 0s}).release(); });
  inside->open();
  settle();
  CHECK(gives_up.end() == errc::timed_out);
}

TEST_CASE_METHOD(async_fixture, "async: what a handler throws is caught and told, and its lease is released") {
  home->async_acquire("k", {}, [](const std::exception_ptr&, const lease&) { throw std::runtime_error("oh no"); });
  home->async_acquire("l", {}, [](const std::exception_ptr&, const lease&) { throw 42; });
  settle();
  CHECK(home->count(event::kind::handler_failed) == 2);
  CHECK(seen->count(event::kind::handler_failed) == 2);
  const auto records = seen->records();
  CHECK(std::any_of(records.begin(), records.end(), [](const auto& each) { return each.text == "oh no"; }));
  CHECK(is_free("k"));
  CHECK(is_free("l"));
}

TEST_CASE_METHOD(async_fixture, "async: a handler may release its lease, waiting for that or not") {
  std::atomic<int> freed{0};
  home->async_acquire("waits", {}, [&](const std::exception_ptr&, lease held) {
    held.release();
    ++freed;
  });
  home->async_acquire("drops", {}, [&](const std::exception_ptr&, lease) { ++freed; });
  home->async_acquire("async", {}, [&](const std::exception_ptr&, lease held) {
    async_release(std::move(held), [&](const std::exception_ptr& failure) { freed += failure == nullptr ? 1 : 100; });
  });
  settle();
  CHECK(freed == 3);
  for (const auto* key : {"waits", "drops", "async"}) CHECK(is_free(key));
}

TEST_CASE_METHOD(async_fixture, "async: a handler that begins the next call is not called from inside it") {
  constexpr int many = 3000;
  struct chain {
    lock_service& locks;
    int left = many;
    std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
    void next() {
      locks.async_acquire("k", {}, [this](const std::exception_ptr& failure, lease held) {
        REQUIRE(failure == nullptr);
        const auto here = reinterpret_cast<std::uintptr_t>(&held);
        lowest = std::min(lowest, here);
        highest = std::max(highest, here);
        async_release(std::move(held), [this](const std::exception_ptr&) {
          if (--left > 0) next();
        });
      });
    }
  } all{*home};
  all.next();
  settle();
  CHECK(all.left == 0);
  CHECK(all.highest - all.lowest < 4096);
}

TEST_CASE_METHOD(async_fixture, "async: handlers of any size may be moved only, and are destroyed once") {
  struct large {
    std::unique_ptr<int> more;
    std::array<char, 200> text{};
  };
  auto alive = std::make_shared<int>(0);
  home->async_acquire(
      "k", {}, [it = std::make_unique<int>(7), alive](const std::exception_ptr&, const lease&) { *alive += *it; });
  home->async_acquire("l", {}, [it = large{std::make_unique<int>(5), {}}, alive](const std::exception_ptr&, lease&&) {
    *alive += *it.more;
  });
  settle();
  CHECK(*alive == 12);
  CHECK(alive.use_count() == 1);
}

TEST_CASE_METHOD(async_fixture, "async: the observer is told on the thread of handlers, before the handler") {
  struct watching final : observer {
    std::mutex mutex{};
    std::vector<std::pair<event::kind, std::thread::id>> events{};
    void on(const event& event) override {
      const std::lock_guard lock(mutex);
      events.emplace_back(event.what, std::this_thread::get_id());
    }
  };
  const auto watch = std::make_shared<watching>();
  auto settings = options();
  settings.observer = watch;
  settings.close_limit = 1h;
  const auto locks = service(settings);
  std::thread::id thread;
  std::size_t before = 0;
  locks->async_acquire("k", {}, [&](const std::exception_ptr&, lease held) {
    thread = std::this_thread::get_id();
    const std::lock_guard lock(watch->mutex);
    before = watch->events.size();
    async_release(std::move(held), [](const std::exception_ptr&) {});
  });
  settle();
  const std::lock_guard lock(watch->mutex);
  REQUIRE(before > 0);
  CHECK(watch->events[before - 1].first == event::kind::granted);
  CHECK(watch->events.back().first == event::kind::released);
  CHECK(
      std::all_of(watch->events.begin(), watch->events.end(), [&](const auto& each) { return each.second == thread; }));
}

// Asynchronous calls: the end of services and leases, renewals, transactions of the calling thread, cancellation.

// ---- the end of a service -------------------------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: each of thousands who wait is told once that the service is closed") {
  constexpr std::size_t many = 5000;
  const bool destroyed = GENERATE(false, true);
  const auto rival = foreign();
  std::vector<lease> theirs;
  for (std::size_t i = 0; i < 8; ++i) theirs.push_back(rival->acquire("theirs " + std::to_string(i), {.ttl = 1h}));
  auto locks = service([](auto& settings) { settings.close_limit = 1h; });
  std::vector<std::atomic<int>> handled(many);
  std::atomic<std::size_t> closed{0};
  for (std::size_t i = 0; i < many; ++i) {
    locks->async_acquire("theirs " + std::to_string(i % 8), {.wait = 1h},
                         [&, i](const std::exception_ptr& failure, const lease&) {
                           ++handled[i];
                           closed += code_of(failure) == errc::closed ? 1 : 0;
                         });
  }
  settle();
  CHECK(std::all_of(handled.begin(), handled.end(), [](const auto& each) { return each == 0; }));
  if (destroyed) {
    locks.reset();  // its destructor waits until they have been told
  } else {
    locks->close(1h);
  }
  CHECK(std::all_of(handled.begin(), handled.end(), [](const auto& each) { return each == 1; }));
  CHECK(closed == many);
}

TEST_CASE_METHOD(async_fixture, "async: a handler may close its service, without waiting") {
  constexpr std::size_t others = 3;
  const auto theirs = held_elsewhere("theirs", {.ttl = 1h});
  std::size_t handled = 0, before = others;  // both on the thread that calls handlers
  for (std::size_t i = 0; i < others; ++i) {
    home->async_acquire("theirs", {.wait = 1h}, [&](const std::exception_ptr& failure, const lease&) {
      handled += code_of(failure) == errc::closed ? 1 : 0;
    });
  }
  settle();
  std::vector<std::string> kept;
  home->async_acquire("k", {}, [&](const std::exception_ptr&, const lease&) {
    kept = home->close(0ms);
    before = handled;
  });
  settle();
  CHECK(kept == std::vector<std::string>{"k"});
  CHECK(before == 0);  // none was called from inside another one
  CHECK(handled == others);
}

TEST_CASE_METHOD(async_fixture, "async: a handler that waits for the end of its service is refused at once") {
  std::vector<std::string> texts;
  const auto close_by = [&](auto&&... how) {
    home->async_try_acquire("k", {}, [&, how...](const std::exception_ptr&, const lease&) {
      try {
        home->close(how...);
      } catch (const std::logic_error& refused) {
        texts.emplace_back(refused.what());
        throw;
      }
    });
    settle();
  };
  close_by(1h);
  close_by(0ms, release_all);
  REQUIRE(texts.size() == 2);
  CHECK(texts[0].starts_with("dlock: close(): called on a thread that runs a handler"));
  CHECK(texts[1].starts_with("dlock: close(release_all): called on a thread"));
  CHECK(seen->count(event::kind::handler_failed) == 2);
  // Neither has closed it. Another service may be closed and destroyed there.
  auto other = service();
  std::atomic<bool> ended{false};
  home->async_acquire("k", {}, [&](const std::exception_ptr&, const lease& held) {
    other->close(1h);
    other.reset();
    ended = static_cast<bool>(held);
  });
  settle();
  CHECK(ended);
}

TEST_CASE_METHOD(with_service<async_fixture>, "async: a lease that outlives its service is released") {
  lease held = locks->acquire("k");
  locks.reset();
  CHECK_FALSE(is_free("k"));
  std::atomic<int> handled{0};
  async_release(std::move(held), [&](const std::exception_ptr& failure) { handled += failure == nullptr ? 1 : 100; });
  CHECK(eventually([&] { return handled == 1; }));
  settle();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(async_fixture, "async: a lost lease that outlives its service by far is released") {
  const bool used = GENERATE(true, false);  // the service had threads for it, which have ended
  auto locks = service([](auto& settings) { settings.close_limit = 1h; });
  if (used) {
    locks->async_try_acquire("other", {}, [](const std::exception_ptr&, const lease&) {});
    settle();
  }
  lease held = locks->acquire("k", {.ttl = 1s, .renewal = renewal::none});
  settle_after(2s);
  locks.reset();
  std::atomic<int> handled{0};
  async_release(std::move(held),
                [&](const std::exception_ptr& failure) { handled += code_of(failure) == errc::lost ? 1 : 100; });
  CHECK(eventually([&] { return handled == 1; }));
  settle();
}

// ---- releases, renewals, several keys -------------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: a release tells what release() would throw") {
  std::error_code lost, unanswered;
  auto mine = home->acquire("lost", {.ttl = 1s, .renewal = renewal::none});
  clock.advance(2s);
  async_release(std::move(mine), [&](const std::exception_ptr& failure) { lost = code_of(failure); });
  CHECK_FALSE(mine);
  settle();
  CHECK(lost == errc::lost);
  auto held = home->acquire("k");
  store->next(verb::release, {.what = fate::fail, .why = denied, .times = 1});
  async_release(std::move(held), [&](const std::exception_ptr& failure) { unanswered = code_of(failure); });
  settle();
  CHECK(unanswered == errc::outcome_unknown);
  settle_after(600ms);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(async_fixture, "async: a renewal by hand extends the lease, or tells that it is lost") {
  const auto mine = home->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  std::vector<std::error_code> handled;
  const auto tell = [&](const std::exception_ptr& failure) { handled.push_back(code_of(failure)); };
  clock.advance(5s);
  async_renew(mine, tell);
  settle();
  CHECK(mine.remaining() > 9s);
  async_renew(mine, 60s, tell);
  settle();
  CHECK(mine.remaining() > 50s);
  clock.advance(70s);
  async_renew(mine, tell);
  settle();
  REQUIRE(handled.size() == 3);
  CHECK(handled[0] == std::error_code());
  CHECK(handled[1] == std::error_code());
  CHECK(handled[2] == errc::lost);
}

TEST_CASE_METHOD(async_fixture, "async: several keys are granted together, or waited for together") {
  auto theirs = held_elsewhere("b", {.ttl = 1h});
  std::stop_source stop;
  multi_lease all;
  std::error_code late, cancelled;
  home->async_acquire_all({"a", "b", "c"}, {.wait = 1h},
                          [&](const std::exception_ptr&, multi_lease held) { all = std::move(held); });
  home->async_acquire_all({"b", "d"}, {.wait = 1s},
                          [&](const std::exception_ptr& failure, const multi_lease&) { late = code_of(failure); });
  home->async_acquire_all({"b", "e"}, {.wait = 1h, .cancel = stop.get_token()},
                          [&](const std::exception_ptr& failure, const multi_lease&) { cancelled = code_of(failure); });
  settle();
  CHECK_FALSE(all);
  for (const auto* key : {"a", "c", "d", "e"}) CHECK(is_free(key));
  stop.request_stop();
  settle();
  CHECK(cancelled == errc::cancelled);
  for (int i = 0; i < 12; ++i) settle_after(100ms);
  CHECK(late == errc::timed_out);
  theirs.release();
  settle_after(1s);
  REQUIRE(all.size() == 3);
  CHECK_FALSE(is_free("a"));
  std::error_code released = errc::lost;
  async_release(std::move(all), [&](const std::exception_ptr& failure) { released = code_of(failure); });
  settle();
  CHECK(released == std::error_code());
  for (const auto* key : {"a", "b", "c"}) CHECK(is_free(key));
}

// ---- transactions of the calling thread -----------------------------------------------------------------------------

TEST_CASE_METHOD(async_fixture, "async: an acquire inside a transaction of the calling thread is told") {
  const fake_transaction open(*store);
  async_lock mine(*this, "k");
  mine.acquire();
  settle();
  CHECK(mine.held());
  CHECK(seen->count(event::kind::in_transaction) == 1);
}

TEST_CASE_METHOD(async_fixture, "async: a release inside a transaction of the calling thread waits for its end") {
  async_lock mine(*this, "k");
  mine.acquire();
  settle();
  fake_transaction open(*store);
  mine.release();
  settle();
  CHECK(mine.released());
  CHECK_FALSE(is_free("k"));
  open.end();
  settle();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(async_fixture, "async: a thread that would wait for itself is told so by the call") {
  faulty_store::may_wait_here = false;
  const auto end =
      thrown([&] { home->async_acquire("k", {}, [](const std::exception_ptr&, const lease&) { FAIL("called"); }); });
  faulty_store::may_wait_here = true;
  CHECK(end == errc::store_failed);
}

// ---- cancellation ---------------------------------------------------------------------------------------------------

TEST_CASE("async: a cancellation that races with the grant ends in one of both, and nothing stays held") {
  const auto store = std::make_shared<stores::memory_store>();
  lock_service locks(store, {.connections = 3, .close_limit = 10s});
  constexpr int rounds = 400;
  std::atomic<int> handled{0}, granted{0}, cancelled{0}, other{0};
  for (int i = 0; i < rounds; ++i) {
    std::stop_source stop;
    const auto key = "k" + std::to_string(i % 4);
    locks.async_acquire(key, {.wait = 1min, .retry = {.pause = 1ms}, .cancel = stop.get_token()},
                        [&](const std::exception_ptr& failure, lease held) {
                          const auto code = code_of(failure);
                          ++(held ? granted : code == errc::cancelled ? cancelled : other);
                          if (!held) {
                            ++handled;
                            return;
                          }
                          async_release(std::move(held), [&](const std::exception_ptr&) { ++handled; });
                        });
    for (int spin = 0; spin < i * 7 % 900; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
    stop.request_stop();
  }
  REQUIRE(eventually([&] { return handled == rounds; }));
  CHECK(granted + cancelled == rounds);
  CHECK(other == 0);
  lock_service rival(store, {});
  for (int i = 0; i < 4; ++i) CHECK(test::granted(rival.try_acquire("k" + std::to_string(i))));
}
