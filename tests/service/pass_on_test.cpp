// SPDX-License-Identifier: BSL-1.0
// A thread that releases a lock passes it on to the next one of its process by one statement, where the store can.

#include "dlock/async.hpp"
#include "service/engine_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

struct passing_fixture : engine_fixture {
  inside home{};
  lease held{};

  void begin(const detail::lock_settings& how = {}) {
    home = core();
    held = home.acquire("k", how, false);
  }
  ~passing_fixture() {
    held = {};
    home.close(0ms);
    home.finish();
  }
  bool queued(std::size_t count = 1) {
    return eventually([&] { return home.waiting() == count; });
  }
  std::size_t passed() const { return store->count(verb::pass_on); }
  std::size_t released() const { return store->count(verb::release); }
};

/// A thread that waits for the key, and holds it until it is told to end.
class waiter {
 public:
  waiter(passing_fixture& in, const detail::lock_settings& how, std::optional<owner> named = {})
      : thread_([&in, how, named = std::move(named), this] {
          std::optional<owner_scope> scope;
          if (named) scope.emplace(*named);
          end = thrown([&] {
            auto mine = in.home.acquire("k", how, false);
            fence = mine.fencing_token();
            left = mine.remaining();
            entered = true;
            while (!over) std::this_thread::yield();
            return mine;
          });
        }) {}
  ~waiter() { leave(); }
  bool has_it() const {
    return eventually([&] { return entered.load(); });
  }
  void leave() {
    over = true;
    if (thread_.joinable()) thread_.join();
  }

  std::error_code end{};
  std::uint64_t fence = 0;
  std::chrono::microseconds left{0};

 private:
  std::atomic<bool> entered{false};
  std::atomic<bool> over{false};
  std::thread thread_;
};

/// The key is held, and a thread waits for it.
struct waited_for : passing_fixture {
  waited_for() {
    begin();
    next.emplace(*this, detail::lock_settings{.wait = 1h});
    REQUIRE(queued());
  }
  std::optional<waiter> next{};
};

}  // namespace

TEST_CASE_METHOD(passing_fixture, "passing on: a lock goes from thread to thread by one statement each time") {
  begin();
  const auto first = held.fencing_token();
  std::vector<std::uint64_t> fences;  // guarded by the lock itself
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 5; ++i) {
    threads.emplace_back([&] { fences.push_back(home.acquire("k", {.wait = 1h}, false).fencing_token()); });
    REQUIRE(queued(i + 1));
  }
  const auto before = home.statements();
  held.release();
  for (auto& each : threads) each.join();
  CHECK(fences == std::vector{first + 1, first + 2, first + 3, first + 4, first + 5});
  CHECK(home.statements() - before == 6);
  CHECK(passed() == 5);
  CHECK(released() == 1);  // the last one's
  CHECK(seen->count(event::kind::granted) == 6);
  CHECK(seen->count(event::kind::released) == 6);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(passing_fixture, "passing on: what the next one asked for holds for it, not what the last one did") {
  begin();
  waiter next(*this, {.wait = 1h, .min_hold = 3s, .max_hold = 5s});
  REQUIRE(queued());
  held.release();
  REQUIRE(next.has_it());
  CHECK(passed() == 1);
  CHECK(next.left == 5s);
  next.leave();
  CHECK_FALSE(is_free("k"));
  clock.advance(3s);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "passing on: an asynchronous waiter gets it as well") {
  auto mine = locks->acquire("k");
  std::atomic<std::uint64_t> fence{0};
  locks->async_acquire("k", {.wait = 1h}, [&](const std::exception_ptr& error, lease got) {
    if (error == nullptr) fence = got.fencing_token();
  });
  REQUIRE(eventually([&] { return locks->waiting() == 1; }));
  const auto first = mine.fencing_token();
  mine.release();
  CHECK(eventually([&] { return fence.load() == first + 1; }));
  CHECK(store->count(verb::pass_on) == 1);
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(passing_fixture, "passing on: threads of one owner enter what one of them has got") {
  begin();
  const owner task;
  waiter one(*this, {.wait = 1h}, task);
  REQUIRE(queued());
  waiter other(*this, {.wait = 1h}, task);
  REQUIRE(queued(2));
  held.release();
  REQUIRE(one.has_it());
  REQUIRE(other.has_it());
  CHECK(one.fence == other.fence);
  CHECK(passed() == 1);
}

TEST_CASE_METHOD(passing_fixture, "passing on: a lock is released and taken where that is not the same") {
  struct unlike {
    std::string name;
    std::function<void(passing_fixture&)> before = [](passing_fixture&) {};
    detail::lock_settings first{}, second{.wait = 1h};
    std::function<void(passing_fixture&)> meanwhile = [](passing_fixture&) {};
  };
  const auto& [name, before, first, second, meanwhile] = GENERATE(values<unlike>({
      {.name = "another session keeps it", .second = {.ttl = 5min, .wait = 1h}},
      {.name = "it has an expiry of its own", .second = {.wait = 1h, .renewal = renewal::manual}},
      {.name = "it had an expiry of its own", .first = {.renewal = renewal::manual}},
      {.name = "it stays taken for a while",
       .first = {.min_hold = 1ms},
       .meanwhile = [](auto& in) { in.clock.advance(1ms); }},
      {.name = "the store can't", .before = [](auto& in) { in.store->can().passes_on = false; }},
      {.name = "other processes may wait for it",
       .before = [](auto& in) { in.store->can().waits = waiting::woken; },
       .meanwhile = [](auto& in) { in.clock.advance(10ms); }},
      {.name = "this process has had it for long", .meanwhile = [](auto& in) { in.clock.advance(100ms); }},
  }));
  INFO(name);
  before(*this);
  begin(first);
  const auto fence = held.fencing_token();
  waiter next(*this, second);
  REQUIRE(queued());
  meanwhile(*this);
  held.release();
  REQUIRE(next.has_it());
  CHECK(next.fence == fence + 1);
  CHECK(passed() == 0);
  CHECK(released() == 1);
}

TEST_CASE_METHOD(passing_fixture, "passing on: not while releases find waiters of other processes") {
  store->can().waits = waiting::woken;
  begin();
  waiter next(*this, {.wait = 1h});
  REQUIRE(queued());
  const bool others = GENERATE(true, false);
  store->has_waiters(others ? 1 : 0);
  clock.advance(10ms);
  held.release();  // looks
  REQUIRE(next.has_it());
  waiter last(*this, {.wait = 1h});
  REQUIRE(queued());
  next.leave();
  REQUIRE(last.has_it());
  CHECK(passed() == (others ? 0 : 1));
}

TEST_CASE_METHOD(passing_fixture, "passing on: a waiter that goes meanwhile leaves it to the one behind it") {
  begin();
  std::stop_source cancel;
  waiter next(*this, {.wait = 1h, .cancel = cancel.get_token()});
  REQUIRE(queued());
  const bool another = GENERATE(true, false);
  std::optional<waiter> behind;
  if (another) behind.emplace(*this, detail::lock_settings{.wait = 1h});
  REQUIRE(queued(another ? 2 : 1));
  const auto sent = store->hold(verb::pass_on);
  const auto fence = held.fencing_token();
  std::thread releasing([&] {
    REQUIRE(sent->reached());
    cancel.request_stop();
    next.leave();
    sent->open();
  });
  held.release();
  releasing.join();
  CHECK(next.end == errc::cancelled);
  if (another) {
    REQUIRE(behind->has_it());
    CHECK(behind->fence == fence + 1);
    behind->leave();
  }
  CHECK(is_free("k"));
  CHECK(released() == 1);  // of what nobody wanted, or of the one behind
}

TEST_CASE_METHOD(waited_for, "passing on: without an answer the key is released, and nobody holds it twice") {
  const auto what = GENERATE(fate::drop, fate::ghost, fate::vanish);
  store->next(verb::pass_on, {.what = what});
  const auto fence = held.fencing_token();
  while_time_passes([&] { CHECK_NOTHROW(held.release()); });
  REQUIRE(next->has_it());
  CHECK(next->fence == fence + (what == fate::drop ? 2U : 1U));
  store->run_ghosts();  // too late
  CHECK(fence_of("k") == next->fence);
  CHECK(seen->count(event::kind::split_brain) == 0);
  next->leave();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(waited_for, "passing on: while the store can't be reached, all is left to the background") {
  const bool done = GENERATE(true, false);
  store->next(verb::pass_on, {.what = done ? fate::drop : fate::ghost});
  store->next(verb::release, {.what = fate::vanish, .times = 1000});
  while_time_passes([&] { CHECK(thrown([&] { held.release(); }) == errc::outcome_unknown); });
  store->forget_scripts();
  while_time_passes([&] { REQUIRE(next->has_it()); });
  store->run_ghosts();
  CHECK(fence_of("k") == next->fence);
  CHECK(seen->count(event::kind::split_brain) == 0);
  next->leave();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(waited_for, "passing on: a refusal, or none that could be done, costs a statement and no more") {
  const bool refused = GENERATE(true, false);
  store->next(verb::pass_on, refused ? script{.what = fate::say, .answer = outcome::no}
                                     : script{.what = fate::fail, .why = {.text = "no rights"}});
  held.release();
  REQUIRE(next->has_it());
  CHECK(released() == 1);
  CHECK(store->count(verb::cancel) == 0);
}

TEST_CASE_METHOD(waited_for, "passing on: a proxy that executes it twice, and says no, has not lost the lock") {
  const auto fence = held.fencing_token();
  const auto once = [&] {
    fault why;
    const auto on = rows->connect(1s, why);
    const request first{.action = verb::pass_on,
                        .resource = "k",
                        .session = store->opened().front(),
                        .nonce = store->nonces().back(),
                        .fence = fence};
    reply answer;
    rows->execute(*on, {&first, 1}, {&answer, 1});
    CHECK(answer.result == outcome::yes);
  };
  store->next(verb::pass_on, {.ahead = once});
  CHECK_NOTHROW(held.release());
  REQUIRE(next->has_it());
  CHECK(next->fence == fence + 2);
  CHECK(seen->count(event::kind::split_brain) == 0);
}

TEST_CASE_METHOD(waited_for, "passing on: a lock that somebody broke into is lost all the same") {
  const auto thief = foreign();
  lease stolen;
  store->next(verb::pass_on, {.ahead = [&] {
                fault why;
                const auto on = rows->connect(1s, why);
                rows->session(*on, session_verb::close, {.id = store->opened().front()});
                stolen = thief->acquire("k", {.wait = 1ms});
              }});
  CHECK(thrown([&] { held.release(); }) == errc::lost);
  CHECK(fence_of("k") == stolen.fencing_token());
  CHECK(seen->count(event::kind::split_brain) == 1);
  stolen = {};
  while_time_passes([&] { next->leave(); });
}

TEST_CASE_METHOD(passing_fixture, "passing on: a session that has ended meanwhile grants nothing") {
  begin();
  waiter next(*this, {.wait = 1000h});
  REQUIRE(queued());
  store->next(verb::pass_on, {.during = [&] { clock.advance(1h); }});
  const auto fence = held.fencing_token();
  held.release();
  while_time_passes([&] { REQUIRE(next.has_it()); });
  CHECK(next.fence > fence);
  CHECK(next.left > 0us);
  CHECK(store->opened().size() == 2);
}

TEST_CASE_METHOD(waited_for, "passing on: a service that is closed meanwhile leaves the key free") {
  const auto sent = store->hold(verb::pass_on);
  const concurrent_call releasing([&] { return held.release(); });
  REQUIRE(sent->reached());
  const concurrent_call closing([&] { return home.close(1h); });
  const bool left = eventually([&] { return home.waiting() == 0; });
  sent->open();
  CHECK_FALSE(releasing.end());
  next->leave();
  CHECK_FALSE(closing.end());
  CHECK(left);
  CHECK(next->end == errc::closed);
  CHECK(is_free("k"));
}
