// SPDX-License-Identifier: BSL-1.0

// A leader: who leads when, and what its function learns. Under the virtual clock.

#include "dlock/leader.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "dlock/leader_watch.hpp"
#include "service/engine_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

/// A leader's function that stays until it must stop, and what it has seen.
class office {
 public:
  void operator()(leadership& term) {
    std::unique_lock lock(mutex_);
    ++terms_;
    fence_ = term.fencing_token();
    changed_.notify_all();
    const std::stop_callback told(term.stop_token(), [this] {
      const std::lock_guard guard(told_mutex_);
      told_ = true;
      told_changed_.notify_all();
    });
    lock.unlock();
    std::unique_lock wait(told_mutex_);
    told_changed_.wait(wait, [&] { return told_; });
    told_ = false;
    wait.unlock();
    lock.lock();
    loss_ = term.held().loss();
    ++ended_;
    changed_.notify_all();
  }

  bool begins(int terms) {
    return wait_for([&] { return terms_ >= terms; });
  }
  bool ends(int terms) {
    return wait_for([&] { return ended_ >= terms; });
  }
  int terms() const {
    const std::lock_guard guard(mutex_);
    return terms_;
  }
  std::uint64_t fence() const {
    const std::lock_guard guard(mutex_);
    return fence_;
  }
  loss_reason loss() const {
    const std::lock_guard guard(mutex_);
    return loss_;
  }

 private:
  template <class Done>
  bool wait_for(Done done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, done);
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::mutex told_mutex_;
  std::condition_variable told_changed_;
  bool told_ = false;
  int terms_ = 0;
  int ended_ = 0;
  std::uint64_t fence_ = 0;
  loss_reason loss_ = loss_reason::none;
};

struct leaders : engine_fixture {
  std::unique_ptr<lock_service> locks = service();
  std::unique_ptr<lock_service> others = foreign();
};

}  // namespace

TEST_CASE_METHOD(leaders, "leader: one of two leads, and the other one when it is destroyed") {
  office here, there;
  auto first = std::make_unique<leader>(*locks, "k", std::ref(here));
  REQUIRE(here.begins(1));
  CHECK(first->leads());
  leader second(*others, "k", std::ref(there));
  CHECK(clock.at_rest({.callers = 1}));
  CHECK_FALSE(second.leads());
  CHECK(there.terms() == 0);
  first.reset();
  CHECK(here.ends(1));
  CHECK(here.loss() == loss_reason::none);
  clock.advance(1s);  // the memory store's waiters poll
  REQUIRE(there.begins(1));
  CHECK(second.leads());
  CHECK(there.fence() > here.fence());
}

TEST_CASE_METHOD(leaders, "leader: a term that ends frees the key at once, and the leader campaigns after its pause") {
  office here;
  leader first(*locks, "k", std::ref(here), {.pause = 3s});
  REQUIRE(here.begins(1));
  first.resign();
  CHECK(here.ends(1));
  CHECK(clock.at_rest({.callers = 1}));
  CHECK_FALSE(first.leads());
  CHECK(granted(others->try_acquire("k")));
  clock.advance(3s - 1us);
  CHECK(clock.at_rest({.callers = 1}));
  CHECK(here.terms() == 1);
  clock.advance(1us);
  CHECK(here.begins(2));
}

TEST_CASE_METHOD(leaders, "leader: a lost lease ends the term before another one can have the key") {
  office here;
  leader first(*locks, "k", std::ref(here), {.lock = {.ttl = 10s}});
  REQUIRE(here.begins(1));
  store->cut();
  clock.advance(9500ms);  // ttl - margin
  CHECK(here.ends(1));
  CHECK(here.loss() == loss_reason::unreachable);
  CHECK_FALSE(first.leads());
  CHECK_FALSE(granted(others->try_acquire("k")));
  clock.advance(500ms);
  CHECK(granted(others->try_acquire("k")));
  store->cut(false);
  for (int i = 0; i < 100 && here.terms() < 2; ++i) {
    clock.advance(1s);
    static_cast<void>(clock.at_rest({.callers = 1}, 100ms));
  }
  CHECK(here.terms() == 2);
}

TEST_CASE_METHOD(leaders, "leader: pauses double with each failure in a row, up to max_pause") {
  std::atomic<int> runs{0}, told{0};
  leader failing(*locks, "k",
                 [&](leadership&) {
                   ++runs;
                   throw std::runtime_error("no disk");
                 },
                 {.pause = 1s, .max_pause = 3s, .failed = [&](const std::exception_ptr&) { ++told; }});
  for (const auto pause : {1s, 2s, 3s, 3s}) {
    CHECK(clock.at_rest({.callers = 1}));
    const int before = runs;
    CHECK(told == before);
    clock.advance(pause - 1us);
    CHECK(clock.at_rest({.callers = 1}));
    CHECK(runs == before);
    clock.advance(1us);
    REQUIRE(eventually([&] { return runs == before + 1; }));
  }
  CHECK(clock.at_rest({.callers = 1}));
  REQUIRE(seen->wait_for(event::kind::handler_failed, 5));
  const auto all = seen->records();
  const auto one = std::ranges::find(all, event::kind::handler_failed, &recording_observer::record::what);
  CHECK(one->key == "k");
  CHECK(one->text == "no disk");
}

TEST_CASE_METHOD(leaders, "leader: a long wait for the key does not reset the pauses of a function that fails") {
  std::atomic<int> runs{0};
  const leader failing(*locks, "k",
                       [&](leadership&) {
                         ++runs;
                         throw std::runtime_error("no disk");
                       },
                       {.pause = 1s, .max_pause = 3s});
  const auto pass = [&](std::chrono::milliseconds time) {
    clock.advance(time);
    CHECK(clock.at_rest({.callers = 1}));
  };
  CHECK(clock.at_rest({.callers = 1}));
  REQUIRE(runs == 1);
  auto theirs = others->acquire("k");
  pass(1s);  // the pause
  pass(10s);
  REQUIRE(runs == 1);
  theirs.release();
  for (int i = 0; i < 100 && runs == 1; ++i) pass(100ms);
  REQUIRE(runs == 2);
  for (int i = 0; i < 18; ++i) pass(100ms);
  CHECK(runs == 2);
  for (int i = 0; i < 3; ++i) pass(100ms);
  CHECK(runs == 3);
}

TEST_CASE_METHOD(leaders, "leader: after a term of at least max_pause the pauses begin anew") {
  std::atomic<int> runs{0};
  std::atomic<bool> full{false};
  const leader failing(*locks, "k",
                       [&](leadership&) {
                         if (++runs == 3) full.wait(false);
                         throw std::runtime_error("no disk");
                       },
                       {.pause = 1s, .max_pause = 3s});
  CHECK(clock.at_rest({.callers = 1}));
  clock.advance(1s);
  REQUIRE(eventually([&] { return runs == 2; }));
  CHECK(clock.at_rest({.callers = 1}));
  clock.advance(2s);
  REQUIRE(eventually([&] { return runs == 3; }));
  clock.advance(3s);
  full = true;
  full.notify_all();
  CHECK(clock.at_rest({.callers = 1}));
  clock.advance(1s - 1us);
  CHECK(clock.at_rest({.callers = 1}));
  CHECK(runs == 3);
  clock.advance(1us);
  CHECK(eventually([&] { return runs == 4; }));
}

TEST_CASE_METHOD(leaders, "leader: its function may call it from the beginning") {
  struct shop {
    std::atomic<int> led{0};
    leader owner;
    explicit shop(lock_service& locks)
        : owner(locks, "k", [this](leadership&) {
            led = owner.leads() ? 1 : 2;
            owner.request_stop();
          }) {}
  };
  for (int i = 0; i < 100; ++i) {
    const shop one(*locks);
    REQUIRE(eventually([&] { return one.led != 0 && !locks->holder("k"); }));
    CHECK(one.led == 1);
  }
}

TEST_CASE_METHOD(leaders, "leader: lock_lost of its lease is no failure") {
  std::atomic<bool> failed{false}, ran{false}, begun{false};
  const leader first(*locks, "k",
                     [&](leadership& term) {
                       begun = true;
                       while (!term.stop_requested()) std::this_thread::yield();
                       ran = true;
                       term.ensure_held();
                     },
                     {.lock = {.ttl = 10s}, .failed = [&](const std::exception_ptr&) { failed = true; }});
  REQUIRE(eventually([&] { return begun.load(); }));
  store->cut();
  clock.advance(9500ms);
  REQUIRE(eventually([&] { return ran.load(); }));
  CHECK(clock.at_rest({.callers = 1}));
  CHECK_FALSE(failed);
  CHECK(seen->count(event::kind::handler_failed) == 0);
  store->cut(false);
}

TEST_CASE_METHOD(leaders, "leader: lock_lost of another lock is a failure, also after resign()") {
  std::atomic<int> told{0};
  const leader first(*locks, "k",
                     [&](leadership& term) {
                       term.resign();
                       throw lock_lost(loss_reason::expired, "another lock");
                     },
                     {.failed = [&](const std::exception_ptr& why) {
                       told = thrown([&] { return std::rethrow_exception(why), 0; }) == errc::lost ? 1 : 2;
                     }});
  REQUIRE(seen->wait_for(event::kind::handler_failed));
  CHECK(clock.at_rest({.callers = 1}));
  CHECK(told == 1);
}

TEST_CASE_METHOD(leaders, "leader: its lease is renewed even if the service's default is another") {
  const auto manual = service([](service_options& all) { all.defaults.renewal = renewal::manual; });
  office here;
  const leader first(*manual, "k", std::ref(here), {.lock = {.ttl = 10s}});
  REQUIRE(here.begins(1));
  for (int i = 0; i < 30; ++i) {
    clock.advance(1s);
    static_cast<void>(clock.at_rest({.callers = 1}, 100ms));
  }
  CHECK(first.leads());
  CHECK(here.terms() == 1);
}

TEST_CASE_METHOD(leaders, "leader: closing its service ends the term and the campaigns") {
  office here;
  const leader first(*locks, "k", std::ref(here));
  REQUIRE(here.begins(1));
  CHECK(locks->close(20s).empty());
  CHECK(here.ends(1));
  clock.advance(1h);
  CHECK(clock.at_rest());
  CHECK(here.terms() == 1);
}

TEST_CASE_METHOD(leaders, "leader: the function may enter its key again") {
  std::atomic<int> entered{0};
  const leader first(*locks, "k", [&](leadership& term) {
    const auto inner = locks->acquire("k");
    entered = inner.reentered() && inner.fencing_token() == term.fencing_token() ? 1 : 2;
  });
  REQUIRE(eventually([&] { return entered != 0; }));
  CHECK(entered == 1);
}

TEST_CASE_METHOD(leaders, "leader: refuses what would end a campaign, and times out of their range") {
  const auto with = [&](leader_options options) {
    return refusal([&] {
      return leader(
                 *locks, "k", [](leadership&) {}, std::move(options))
          .leads();
    });
  };
  CHECK(with({.lock = {.wait = 1s}}).find("'k': leader_options::lock.wait = 1000 ms") != std::string::npos);
  CHECK(with({.lock = {.renewal = renewal::none}}).find("lock.renewal = none") != std::string::npos);
  CHECK(with({.lock = {.renewal = renewal::manual}}).find("lock.renewal = manual") != std::string::npos);
  CHECK(with({.lock = {.renewal = renewal::automatic}}).empty());
  CHECK(with({.lock = {.cancel = std::stop_token{}}}).find("lock.cancel") != std::string::npos);
  CHECK(with({.lock = {.retry = {.limit = 3U}}}).find("lock.retry.limit = 3") != std::string::npos);
  CHECK(with({.lock = {.ttl = 1ms}}).find("ttl") != std::string::npos);
  CHECK(with({.pause = 0ms}).find("'k': leader_options::pause = 0 ms") != std::string::npos);
  CHECK(with({.pause = 2s, .max_pause = 1s}).find("max_pause = 1000") != std::string::npos);
  CHECK(refusal([&] { return leader(*locks, "k", nullptr).leads(); }).find("'k': a leader without a function") !=
        std::string::npos);
}

TEST_CASE_METHOD(leaders, "leader: an error of the store is reported, and it campaigns on") {
  std::atomic<int> told{0};
  office here;
  store->next(verb::take, {.what = fate::fail, .why = denied});
  leader first(*locks, "k", std::ref(here), {.failed = [&](const std::exception_ptr& why) {
    told = thrown([&] { return std::rethrow_exception(why), 0; }) == errc::store_failed ? 1 : 2;
  }});
  CHECK(clock.at_rest({.callers = 1}));
  CHECK(told == 1);
  CHECK(here.terms() == 0);
  CHECK(seen->wait_for(event::kind::acquire_failed));
  clock.advance(1s);
  CHECK(here.begins(1));
}

TEST_CASE_METHOD(leaders, "leader_watch: calls once for each change, and says when it does not know") {
  std::mutex mutex;
  std::vector<leader_view> views;
  const auto count = [&] {
    const std::lock_guard guard(mutex);
    return views.size();
  };
  const auto last = [&] {
    const std::lock_guard guard(mutex);
    return views.back();
  };
  const leader_watch watch(*locks, "k", [&](const leader_view& now) {
    const std::lock_guard guard(mutex);
    views.push_back(now);
  });
  REQUIRE(eventually([&] { return count() == 1; }));
  CHECK(last().known);
  CHECK_FALSE(last().who);
  auto held = others->acquire("k", {.ttl = 30s});
  CHECK(leader_of(*locks, "k")->fence == 1);
  const auto second_passes = [&] {
    CHECK(clock.at_rest({.callers = 1}));
    clock.advance(1s);
    CHECK(clock.at_rest({.callers = 1}));
  };
  second_passes();
  REQUIRE(count() == 2);
  CHECK(last().who->fence == 1);
  second_passes();
  CHECK(count() == 2);
  held.release();
  held = others->acquire("k");
  second_passes();
  REQUIRE(count() == 3);
  CHECK(last().who->fence == 2);
  store->cut();
  static_cast<void>(thrown([&] { return locks->try_acquire("other"); }));  // breaks the connection
  REQUIRE(eventually([&] { return clock.advance(1s), count() == 4; }));
  CHECK_FALSE(last().known);
  CHECK(last().who->fence == 2);
  CHECK_FALSE(last().why.empty());
  store->cut(false);
}

TEST_CASE_METHOD(leaders, "leader_of: a dead holder leads no more") {
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto theirs = dying.acquire("k", {.ttl = 10s});
  CHECK(leader_of(*locks, "k"));
  crashed->cut();
  clock.advance(10s);
  CHECK(locks->holder("k"));
  CHECK_FALSE(leader_of(*locks, "k"));
  crashed->cut(false);
}
