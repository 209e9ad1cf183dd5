// SPDX-License-Identifier: BSL-1.0
// Coroutines under generated locks: the lock lives until the coroutine has ended.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "coroutines.locked.hpp"
#include "service/async_fixture.hpp"

namespace {

std::mutex loop_mutex;

}  // namespace

tasks::loop& tasks::loop::current() {
  static loop all;
  return all;
}
void tasks::job::promise_type::resume_later(std::coroutine_handle<> handle) {
  const std::lock_guard guard(loop_mutex);
  loop::current().ready.push_back(handle);
}

namespace tasks {

namespace net = boost::asio;

net::awaitable<std::string> service::ask(std::string name, std::unique_ptr<int> n, const std::string& suffix) {
  ++entered;
  act();
  co_await net::post(co_await net::this_coro::executor, net::use_awaitable);  // suspended once
  act();
  co_return name + std::to_string(*n) + suffix;
}
net::awaitable<std::optional<int>> service::ask_or_skip(std::string) {
  ++entered;
  co_return 3;
}
net::awaitable<void> service::run_or_skip(std::string) {
  ++entered;
  co_return;
}
net::awaitable<std::string> service::ask_or_call(std::string name, std::unique_ptr<int> n) {
  ++entered;
  co_return name + std::to_string(*n);
}
net::awaitable<std::string> service::otherwise(std::string name, std::unique_ptr<int> n) {
  co_return "not " + name + std::to_string(*n);
}
net::awaitable<void> service::both(int, int) const {
  act();
  co_return;
}
task<int> service::work(std::string name, gate& until) {
  ++entered;
  co_await until;
  act();
  co_return static_cast<int>(name.size());
}
task<std::optional<int>> service::work_or_skip(std::string) {
  ++entered;
  co_return 4;
}
task<int> service::work_or_call(std::string, std::unique_ptr<int> n) { co_return *n; }
task<int> service::work_otherwise(std::string, std::unique_ptr<int> n) { co_return -*n; }
job service::later(std::string, gate& until) {
  ++entered;
  co_await until;
  act();
}
job service::later_both(int, int) {
  ++entered;
  act();
  co_return;
}

}  // namespace tasks

namespace {

using namespace dlock;
using namespace dlock::test;
namespace net = boost::asio;

struct coroutine_fixture : async_fixture {
  net::io_context io{};
  tasks::service inner{};
  tasks::service_locked service{inner, *home};

  ~coroutine_fixture() {
    home->close(0ms);
    turn();
  }
  void turn() {
    do {
      settle();
      io.restart();
    } while (io.poll() > 0);
  }
  template <class T>
  struct outcome {
    bool over = false;
    std::exception_ptr failed{};
    T value{};
  };
  template <class T>
  std::shared_ptr<outcome<T>> spawn(net::awaitable<T> coroutine) {
    auto end = std::make_shared<outcome<T>>();
    net::co_spawn(io, std::move(coroutine), [end](const std::exception_ptr& failed, T value) {
      *end = {true, failed, std::move(value)};
    });
    return end;
  }
  std::shared_ptr<outcome<bool>> spawn(net::awaitable<void> coroutine) {
    auto end = std::make_shared<outcome<bool>>();
    net::co_spawn(io, std::move(coroutine), [end](const std::exception_ptr& failed) { *end = {true, failed, true}; });
    return end;
  }
  bool held(const lock_key& key) { return home->holder(key).has_value(); }
  /// Lets the coroutines of tasks::job go on that dlock has woken.
  void run_jobs() {
    settle();
    for (;;) {
      std::vector<std::coroutine_handle<>> ready;
      {
        const std::lock_guard guard(loop_mutex);
        ready.swap(tasks::loop::current().ready);
      }
      if (ready.empty()) return;
      for (const auto each : ready) each.resume();
      settle();
    }
  }
};

}  // namespace

// ---- Asio -----------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(coroutine_fixture, "gen asio: the lock lives until the coroutine has ended, its arguments too",
                 "[T88]") {
  inner.act = [this] { CHECK(held("a:x")); };
  std::string suffix = "!";
  auto ended = spawn(service.ask("x", std::make_unique<int>(7), suffix));
  CHECK_FALSE(ended->over);
  CHECK(inner.entered == 0);
  turn();
  REQUIRE(ended->over);
  CHECK(ended->value == "x7!");
  CHECK_FALSE(held("a:x"));
}

TEST_CASE_METHOD(coroutine_fixture, "gen asio: an exception of the coroutine passes, and the key is free",
                 "[T87][T88]") {
  inner.act = [] { throw std::runtime_error("from the body"); };
  const std::string suffix;  // a coroutine keeps a reference to it
  const auto ended = spawn(service.ask("x", std::make_unique<int>(7), suffix));
  turn();
  REQUIRE(ended->over);
  CHECK_THROWS_WITH(std::rethrow_exception(ended->failed), "from the body");
  CHECK_FALSE(held("a:x"));
}

TEST_CASE_METHOD(coroutine_fixture, "gen asio: what is granted to a coroutine that is cancelled is released elsewhere",
                 "[T88]") {
  net::cancellation_signal signal;
  bool over = false;
  std::thread::id by{};
  const std::string suffix;
  const auto taking = store->hold(verb::insert);
  store->next(verb::release, {.during = [&] { by = std::this_thread::get_id(); }});
  net::co_spawn(io, service.ask("x", std::make_unique<int>(7), suffix),
                net::bind_cancellation_slot(
                    signal.slot(), [&](const std::exception_ptr& why, const std::string&) { over = why != nullptr; }));
  io.poll();
  REQUIRE(taking->reached());
  signal.emit(net::cancellation_type::terminal);
  taking->open();
  turn();
  CHECK(over);
  CHECK(inner.entered == 0);
  CHECK_FALSE(held("a:x"));
  CHECK(by != std::thread::id());
  CHECK(by != std::this_thread::get_id());  // no thread of the loop waited for it
}

TEST_CASE_METHOD(coroutine_fixture, "gen asio: two coroutines with one key run one after the other", "[T88]") {
  int inside = 0;
  inner.act = [&] { inside += 1; };
  const std::string suffix;
  const auto first = spawn(service.ask("x", std::make_unique<int>(1), suffix));
  const auto second = spawn(service.ask("x", std::make_unique<int>(2), suffix));
  turn();
  CHECK(first->value == "x1");
  CHECK(second->value == "x2");
  CHECK(inside == 4);
}

TEST_CASE_METHOD(coroutine_fixture, "gen asio: busy is skipped, or another coroutine runs with the arguments") {
  const auto rival = foreign();
  auto theirs = rival->acquire("a:x", {.ttl = 1h});
  const auto value = spawn(service.ask_or_skip("x"));
  const auto nothing = spawn(service.run_or_skip("x"));
  const auto other = spawn(service.ask_or_call("x", std::make_unique<int>(5)));
  turn();
  REQUIRE((value->over && nothing->over && other->over));
  CHECK_FALSE(value->value.has_value());
  CHECK(nothing->failed == nullptr);
  CHECK(other->value == "not x5");
  CHECK(inner.entered == 0);
  theirs.release();
  const auto again = spawn(service.ask_or_skip("x"));
  const auto ran = spawn(service.run_or_skip("y"));
  const auto called = spawn(service.ask_or_call("z", std::make_unique<int>(5)));
  turn();
  CHECK(again->value == 3);
  CHECK(ran->over);
  CHECK(called->value == "z5");
  CHECK(inner.entered == 3);
}

TEST_CASE_METHOD(coroutine_fixture, "gen asio: a coroutine may take several keys") {
  inner.act = [this] {
    CHECK(held("a:1"));
    CHECK(held("a:2"));
    ++inner.entered;
  };
  const auto ended = spawn(service.both(1, 2));
  turn();
  CHECK(ended->over);
  CHECK(inner.entered == 1);
  CHECK_FALSE(held("a:1"));
}

TEST_CASE_METHOD(coroutine_fixture, "gen asio: a wrapper may end before a coroutine that it has begun") {
  const auto rival = foreign();
  auto theirs = rival->acquire("a:x", {.ttl = 1h});
  std::optional<tasks::service_locked> shortly(std::in_place, std::make_shared<tasks::service>(), *home);
  const std::string suffix = "!";
  const auto ended = spawn(shortly->ask("x", std::make_unique<int>(7), suffix));
  turn();
  shortly.reset();
  theirs.release();
  turn();
  clock.advance(10s);
  turn();
  REQUIRE(ended->over);
  CHECK(ended->value == "x7!");
}

// ---- coroutines of another library ----------------------------------------------------------------------------------

TEST_CASE_METHOD(coroutine_fixture, "gen coroutine: the lock lives until the coroutine has ended", "[T88]") {
  tasks::gate until;
  inner.act = [this] { CHECK(held("t:abc")); };
  auto working = service.work("abc", until);
  CHECK_FALSE(held("t:abc"));
  working.resume();
  CHECK(held("t:abc"));
  CHECK_FALSE(working.done());
  until.waiting.resume();
  REQUIRE(working.done());
  CHECK(working.result() == 3);
  CHECK_FALSE(held("t:abc"));
}

TEST_CASE_METHOD(coroutine_fixture, "gen coroutine: busy fails, is skipped, or another coroutine runs") {
  const auto rival = foreign();
  auto theirs = rival->acquire("t:abc", {.ttl = 1h});
  tasks::gate until;
  auto working = service.work("abc", until);
  working.resume();
  CHECK(thrown([&] { return working.result(); }) == errc::timed_out);
  auto skipped = service.work_or_skip("abc");
  skipped.resume();
  CHECK(skipped.result() == std::nullopt);
  auto other = service.work_or_call("abc", std::make_unique<int>(5));
  other.resume();
  CHECK(other.result() == -5);
  CHECK(inner.entered == 0);
  theirs.release();
  auto again = service.work_or_skip("abc");
  again.resume();
  CHECK(again.result() == 4);
  auto called = service.work_or_call("abc", std::make_unique<int>(5));
  called.resume();
  CHECK(called.result() == 5);
}

TEST_CASE_METHOD(coroutine_fixture, "gen coroutine: one that can be resumed later waits without a thread", "[T88]") {
  const auto rival = foreign();
  auto theirs = rival->acquire("j:x", {.ttl = 1h});
  tasks::gate until;
  auto waiting = service.later("x", until);
  waiting.resume();  // comes back, though the key is busy
  run_jobs();
  CHECK_FALSE(waiting.done());
  CHECK(inner.entered == 0);
  theirs.release();
  clock.advance(10s);
  run_jobs();
  CHECK(inner.entered == 1);
  CHECK(held("j:x"));
  inner.act = [] { throw std::runtime_error("from the body"); };
  until.waiting.resume();
  run_jobs();
  REQUIRE(waiting.done());
  CHECK_THROWS_WITH(waiting.result(), "from the body");
  CHECK_FALSE(held("j:x"));
}

TEST_CASE_METHOD(coroutine_fixture, "gen coroutine: several keys, skipped where one of them is busy") {
  inner.act = [this] {
    CHECK(held("j:1"));
    CHECK(held("j:2"));
  };
  auto first = service.later_both(1, 2);
  first.resume();
  run_jobs();
  CHECK(first.done());
  CHECK(inner.entered == 1);
  const auto rival = foreign();
  const auto theirs = rival->acquire("j:2", {.ttl = 1h});
  auto second = service.later_both(1, 2);
  second.resume();
  run_jobs();
  CHECK(second.done());
  CHECK(inner.entered == 1);
  CHECK_FALSE(held("j:1"));
}
