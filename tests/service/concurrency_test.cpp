// SPDX-License-Identifier: BSL-1.0

#include <filesystem>
#include <future>

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"
#include "service/torture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

void visit(guarded& data, const lease& held) {
  data.enter(held.fencing_token());
  data.leave();
}

}  // namespace

TEST_CASE_METHOD(engine_fixture, "concurrency: with faults all over, never two on one key, nothing stays behind",
                 "[T80]") {
  constexpr std::size_t keys = 3;
  std::array<guarded, keys> data;
  std::vector<std::unique_ptr<lock_service>> all;
  for (int i = 0; i < 2; ++i) all.push_back(service([](auto& settings) { settings.observer = nullptr; }));
  std::optional<mischief> faults(std::in_place, store, 7U, 0U);
  while_time_passes([&] {
    on_threads(8, [&](int t) {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 25; ++i) {
        const auto k = random() % keys;
        try {
          const auto held = all[static_cast<std::size_t>(t % 2)]->acquire(
              "k" + std::to_string(k), {.wait = 2s, .retry = {.pause = 1ms, .max_pause = 5ms}});
          visit(data[k], held);
        } catch (const error&) {  // a fault, a timeout: no lease
        }
      }
    });
  });
  faults.reset();
  for (auto& each : data) CHECK(each.wrong == 0);
  // The row of a key may stay: on a busy machine this clock outruns a session, which then ends before all of its
  // releases were tried. It is free all the same.
  CHECK(as_time_passes([&] { return std::ranges::all_of(all[0]->held_keys(), &holder_info::dead); }));
}

TEST_CASE_METHOD(engine_fixture, "concurrency: leases end by release, loss and expiry at the same time") {
  const auto locks = service([](auto& settings) { settings.observer = nullptr; });
  std::atomic<int> ended{0};
  while_time_passes([&] {
    on_threads(6, [&](int t) {
      for (int i = 0; i < 100; ++i) {
        const auto key = "k" + std::to_string(t) + "." + std::to_string(i);
        auto held = locks->acquire(key, {.ttl = 10ms, .renewal = renewal::none, .max_hold = 5ms});
        if (i % 10 == 0) std::this_thread::sleep_for(1ms);
        static_cast<void>(thrown([&] { held.release(); }));
        ++ended;
      }
    });
  });
  CHECK(ended == 600);
  CHECK(at_rest_after(10ms));
  CHECK(locks->held_keys().empty());
  CHECK(locks->close(0ms).empty());
}

TEST_CASE("concurrency: threads that lock several mutexes in different orders take few of them for nothing") {
  constexpr int threads = 4;
  constexpr int rounds = 40;
  const auto store = std::make_shared<faulty_store>(std::make_shared<stores::memory_store>());
  lock_service locks(store);
  // As long as a database takes: who is in the middle of a release is in the way of those who try.
  const auto slow = [] { std::this_thread::sleep_for(200us); };
  store->next(verb::take, {.times = 1'000'000, .during = slow});
  store->next(verb::release, {.times = 1'000'000, .during = slow});
  distributed_mutex a{locks, "a", {.wait = 1h}};
  distributed_mutex b{locks, "b", {.wait = 1h}};
  int count = 0;  // no atomic: the locks are what protects it
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i != threads; ++i) {
      workers.emplace_back([&, forth = i % 2 == 0] {
        for (int round = 0; round != rounds; ++round) {
          const std::scoped_lock both(forth ? a : b, forth ? b : a);
          count = count + 1;
        }
      });
    }
  }
  CHECK(count == threads * rounds);
  // Two to take, two to free, and as much again for each round that failed. Without pauses these are many more.
  UNSCOPED_INFO(locks.statements());
  CHECK(locks.statements() <= 12 * threads * rounds);
}

namespace {

std::ptrdiff_t threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator{});
}

/// Without those that connect: they end as soon as they have done so.
std::ptrdiff_t threads_at_rest() {
  constexpr std::ptrdiff_t resting = 1 + 3 + 3;  // this one, and the services under test and of the fixture
  static_cast<void>(eventually([] { return threads_now() <= resting; }, std::chrono::seconds{5}));
  return threads_now();
}

}  // namespace

TEST_CASE_METHOD(engine_fixture,
                 "scale: ten thousand held locks need no more connections, threads or renewals than one",
                 "[T21][T69]") {
  constexpr int locks_held = 10'000;
  auto settings = options();
  settings.connections = 3;
  settings.observer = nullptr;
  const auto locks = service(settings);
  std::vector<lease> held;
  held.push_back(locks->acquire("first"));
  const auto threads = threads_at_rest();
  for (int i = 1; i < locks_held; ++i) held.push_back(locks->acquire("k" + std::to_string(i)));
  CHECK(threads_at_rest() == threads);
  CHECK(store->most_connections() <= 3 + 1);  // and that of the keeper
  CHECK(store->opened().size() == 1);

  CHECK(live_on(held.back(), 60s, 30s));
  CHECK(store->count(session_verb::renew) == 6);  // one for each third of the ttl
  for (const auto& each : held) each.ensure_held();
  CHECK(threads_at_rest() == threads);

  held.clear();
  CHECK(store->count(verb::release) == locks_held);
  CHECK(locks->held_keys().empty());
}

namespace {

/// Real time, and the number of threads that a service has.
class thread_counter final : public environment {
 public:
  instant now() const noexcept override { return boot_clock::now(); }
  void wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, instant until) override {
    system_time().wait_until(wake, lock, until);
  }
  void start_thread(std::function<void()> body) override {
    ++*running_;
    environment::start_thread([running = running_, body = std::move(body)]() mutable {
      std::exchange(body, nullptr)();
      --*running;
    });
  }
  bool settles_at(int least, int most) const {
    return eventually([&] { return *running_ >= least && *running_ <= most; });
  }

 private:
  std::shared_ptr<std::atomic<int>> running_ = std::make_shared<std::atomic<int>>(0);  // the last outlive the counter
};

}  // namespace

TEST_CASE(
    "threads: an engine, a notifier, a worker for each connection, and handlers from the first asynchronous call on") {
  thread_counter threads;
  {
    lock_service locks(std::make_shared<stores::memory_store>(), {.connections = 1, .time = &threads});
    const auto held = locks.acquire("held");  // the threads that connect end then
    // A second worker, for the connection of renewals, is there if the first one was not asleep again in time.
    CHECK(threads.settles_at(3, 4));
    for (const char* key : {"first", "second"}) {
      std::promise<void> done;
      locks.async_acquire(key, {}, [&](const std::exception_ptr&, const lease&) { done.set_value(); });
      done.get_future().wait();
      CHECK(threads.settles_at(4, 5));
    }
  }
  CHECK(threads.settles_at(0, 0));
}

TEST_CASE_METHOD(engine_fixture, "scale: one connection serves sixty-four threads", "[T68]") {
  auto settings = options();
  settings.connections = 1;
  settings.observer = nullptr;
  const auto locks = service(settings);
  std::atomic<int> done{0};
  on_threads(64, [&](int i) {
    const owner_scope here;
    for (int round = 0; round < 20; ++round) {
      const auto own = locks->acquire("own" + std::to_string(i), {.wait = 1h});
      const auto common = locks->acquire("common", {.wait = 1h});
      ++done;
    }
  });
  CHECK(done == 64 * 20);
  CHECK(store->most_connections() <= 2);
  CHECK(locks->held_keys().empty());
}

TEST_CASE_METHOD(engine_fixture, "scale: a hundred thousand keys neither block each other nor stay behind", "[T05]") {
  const auto locks = service([](auto& settings) { settings.observer = nullptr; });
  constexpr int batches = 100;
  constexpr int each_batch = 1'000;
  int refused = 0;
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<lease> held;
    held.reserve(each_batch);
    for (int i = 0; i < each_batch; ++i) {
      const owner_scope here;
      held.push_back(locks->try_acquire("key:" + std::to_string(batch * each_batch + i)));
      if (!held.back()) ++refused;
    }
  }
  CHECK(refused == 0);
  CHECK(locks->held_keys().empty());
  CHECK(store->count(verb::insert) == batches * each_batch);
  CHECK(store->count(verb::release) == batches * each_batch);
}

TEST_CASE_METHOD(one_service, "scale: an idle service is quiet") {
  const auto held = locks->acquire("k");
  CHECK(live_on(held, 60s, 30s));
  CHECK(locks->statements() == 3);
  CHECK(store->count(session_verb::renew) == 6);
  CHECK(store->count(verb::cancel) + store->count(verb::release) == 0);
}

// The threads of a service under the real clock: a virtual one asks so often that it hides a wake-up that is missing.

namespace {

struct real_fixture {
  std::shared_ptr<faulty_store> store = std::make_shared<faulty_store>(std::make_shared<stores::memory_store>());
  std::vector<std::unique_ptr<lock_service>> services{};

  lock_service& service() {
    return *services.emplace_back(std::make_unique<lock_service>(store, service_options{.close_limit = 0ms}));
  }
};

}  // namespace

TEST_CASE_METHOD(real_fixture, "real time: every new service notices that its first lease is lost", "[T92]") {
  std::vector<lease> held;
  store->next(session_verb::renew, {.times = 1000, .before = std::make_shared<gate>()});  // hangs: the alarm is left
  for (int i = 0; i < 16; ++i) held.push_back(service().acquire("k" + std::to_string(i), {.ttl = 1s}));
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& each : held) CHECK(eventually([&] { return each.lost_token().stop_requested(); }));
  CHECK(std::chrono::steady_clock::now() - begun < 6s);
}

TEST_CASE_METHOD(real_fixture, "real time: an expiry of its own is noticed when it comes", "[T92]") {
  auto& locks = service();
  int prompt = 0;
  for (int i = 0; i < 20; ++i) {
    const auto held = locks.acquire("k", {.ttl = 20ms, .wait = 20s, .renewal = renewal::none});
    const auto begun = std::chrono::steady_clock::now();
    REQUIRE(eventually([&] { return held.lost_token().stop_requested(); }));
    if (std::chrono::steady_clock::now() - begun < 200ms) ++prompt;
    REQUIRE(eventually([&] { return !locks.holder("k"); }));
  }
  CHECK(prompt >= 10);  // a machine may stall now and then
}

TEST_CASE_METHOD(real_fixture, "real time: what hangs is interrupted, also the first statement of a service", "[T63]") {
  const auto opening = store->hold(session_verb::open);
  auto& locks = service();
  const auto begun = std::chrono::steady_clock::now();
  CHECK(granted(locks.acquire("k", {.wait = 20s})));
  CHECK(std::chrono::steady_clock::now() - begun < 15s);
}

TEST_CASE_METHOD(real_fixture, "real time: waiters are woken by a release, a cancellation and the end of the wait",
                 "[T33][T35]") {
  auto& locks = service();
  for (int i = 0; i < 50; ++i) {
    auto held = locks.acquire("k");
    std::stop_source stop;
    std::atomic<bool> over{false};
    std::thread waiter([&] {
      try {
        const auto mine = locks.acquire("k", {.wait = i % 3 == 0 ? 5ms : 60'000ms, .cancel = stop.get_token()});
      } catch (const error&) {
      }
      over = true;
    });
    if (i % 3 == 1) held.release();
    if (i % 3 == 2) stop.request_stop();
    REQUIRE(eventually([&] { return over.load(); }));
    waiter.join();
  }
}

TEST_CASE_METHOD(real_fixture, "real time: a service ends at once when nothing is held", "[T89]") {
  int prompt = 0;
  for (int i = 0; i < 20; ++i) {
    service().acquire("k").release();
    const auto begun = std::chrono::steady_clock::now();
    services.pop_back();
    if (std::chrono::steady_clock::now() - begun < 250ms) ++prompt;
  }
  CHECK(prompt >= 10);  // a machine may stall now and then
  CHECK(store->connections() == 0);
}
