// SPDX-License-Identifier: BSL-1.0

// Locks as operations of Asio, and coroutines under a lock.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <fstream>

#include "dlock/asio.hpp"
#include "service/async_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

namespace net = boost::asio;
using net::awaitable;

/// A loop that the test turns, on its own thread, between two moments of rest.
struct asio_fixture : async_fixture {
  net::io_context io{};
  dlock::asio::service locks{*home, io};

  ~asio_fixture() {
    home->close(0ms);
    turn();
  }
  /// Until nothing goes on before time moves.
  void turn() {
    do {
      settle();
      io.restart();
    } while (io.poll() > 0);
  }
  /// The code of what the coroutine threw; none: it has ended well. Still running: another one.
  struct outcome {
    bool over = false;
    std::exception_ptr failed{};
    std::error_code code() const { return over ? code_of(failed) : std::make_error_code(std::errc::timed_out); }
  };
  template <class Coroutine>
  std::shared_ptr<outcome> spawn(Coroutine coroutine) {
    auto end = std::make_shared<outcome>();
    net::co_spawn(io, std::move(coroutine), [end](const std::exception_ptr& failed) { *end = {true, failed}; });
    return end;
  }
};

/// A coroutine that does nothing.
constexpr auto none = []() -> awaitable<void> { co_return; };

}  // namespace

// ---- tokens ---------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(asio_fixture, "asio: every call is awaited, and gives what the blocking call gives") {
  const auto theirs = held_elsewhere("busy", {.ttl = 1h});
  const auto end = spawn([&]() -> awaitable<void> {
    auto lease = co_await locks.async_acquire("k", {.renewal = renewal::manual}, net::use_awaitable);
    CHECK(lease.fencing_token() > 0);
    co_await locks.async_renew(lease, 60s);
    CHECK(lease.remaining() > 50s);
    co_await locks.async_release(std::move(lease));
    const lock_keys both{"a", "b"}, one_busy{"a", "busy"};
    auto all = co_await locks.async_acquire_all(both, net::use_awaitable);
    CHECK(all.size() == 2);
    co_await locks.async_release(std::move(all));
    const auto tried = co_await locks.async_try_acquire("busy");
    CHECK_FALSE(tried);
    const auto tried_all = co_await locks.async_try_acquire_all(one_busy);
    CHECK_FALSE(tried_all);
  });
  turn();
  REQUIRE(end->over);
  CHECK(end->failed == nullptr);
  for (const auto* key : {"k", "a", "b"}) CHECK(is_free(key));
}

TEST_CASE_METHOD(asio_fixture, "asio: co_await throws what the blocking call throws, bad input too") {
  const auto theirs = held_elsewhere("busy", {.ttl = 1h});
  const auto late = spawn([&]() -> awaitable<void> { co_await locks.async_with_lock("busy", {.wait = 0s}, none); });
  const auto bad = spawn([&]() -> awaitable<void> { co_await locks.async_with_lock("k", {.ttl = 1ms}, none); });
  const auto waits = spawn([&]() -> awaitable<void> { co_await locks.async_with_lock("busy", {.wait = 1h}, none); });
  turn();
  CHECK(late->code() == errc::timed_out);
  REQUIRE(bad->over);
  CHECK_THROWS_AS(std::rethrow_exception(bad->failed), std::invalid_argument);
  CHECK_FALSE(waits->over);
  home->close(0ms);
  turn();
  CHECK(waits->code() == errc::closed);
}

TEST_CASE_METHOD(asio_fixture, "asio: other tokens work as well: futures, functions, tuples") {
  auto future = locks.async_acquire("f", {}, net::use_future);
  auto refused = locks.async_acquire("r", {.ttl = 1ms}, net::use_future);
  lease by_function;
  bool inside = true;
  locks.async_acquire("c", [&](const std::exception_ptr& failed, lease held) {
    CHECK(failed == nullptr);
    CHECK_FALSE(inside);
    by_function = std::move(held);
  });
  inside = false;
  const auto end = spawn([&]() -> awaitable<void> {
    auto [failed, held] = co_await locks.async_acquire("t", {}, net::as_tuple(net::use_awaitable));
    CHECK(failed == nullptr);
    CHECK(held);
    co_await locks.async_release(std::move(held));
  });
  turn();
  CHECK(end->over);
  CHECK(by_function);
  CHECK(granted(future.get()));
  CHECK_THROWS_AS(refused.get(), std::invalid_argument);
}

TEST_CASE_METHOD(asio_fixture, "asio: a handler is called on its own executor, else on the service's") {
  net::thread_pool pool(1);
  const auto strand = net::make_strand(pool);
  std::promise<std::thread::id> there;
  std::thread::id here, of_pool;
  net::post(pool, [&] { of_pool = std::this_thread::get_id(); });
  locks.async_acquire("a", net::bind_executor(strand, [&](const std::exception_ptr&, const lease&) {
                        CHECK(strand.running_in_this_thread());
                        there.set_value(std::this_thread::get_id());
                      }));
  locks.async_acquire("b", [&](const std::exception_ptr&, const lease&) { here = std::this_thread::get_id(); });
  turn();
  CHECK(there.get_future().get() == of_pool);
  CHECK(here == std::this_thread::get_id());
  pool.join();
}

TEST_CASE_METHOD(asio_fixture, "asio: the executor has work while something waits") {
  auto theirs = held_elsewhere("k", {.ttl = 1h});
  const auto end = spawn([&]() -> awaitable<void> { co_await locks.async_with_lock("k", {.wait = 1h}, none); });
  turn();
  CHECK_FALSE(io.stopped());  // run() would wait
  theirs.release();
  clock.advance(1s);
  turn();
  CHECK(end->over);
  CHECK(io.stopped());
}

namespace {
/// Counts what is allocated, and checks that it is freed on one thread.
template <class T>
struct counting {
  using value_type = T;
  struct counts {
    int live = 0, allocated = 0;
    std::thread::id thread = std::this_thread::get_id();
  };
  std::shared_ptr<counts> shared;
  explicit counting(std::shared_ptr<counts> to) : shared(std::move(to)) {}
  template <class U>
  counting(const counting<U>& other) : shared(std::reinterpret_pointer_cast<counts>(other.shared)) {}
  T* allocate(std::size_t n) {
    ++shared->live, ++shared->allocated;
    CHECK(std::this_thread::get_id() == shared->thread);
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* at, std::size_t n) {
    --shared->live;
    CHECK(std::this_thread::get_id() == shared->thread);
    std::allocator<T>().deallocate(at, n);
  }
  friend bool operator==(const counting&, const counting&) = default;
};
}  // namespace

TEST_CASE_METHOD(asio_fixture, "asio: the handler's allocator is used on its executor, and free before the handler") {
  const auto counts = std::make_shared<counting<char>::counts>();
  int live = -1;
  locks.async_acquire("k", net::bind_allocator(counting<char>(counts),
                                               [&](const std::exception_ptr&, const lease&) { live = counts->live; }));
  turn();
  CHECK(counts->allocated > 0);
  CHECK(live == 0);
}

// ---- async_with_lock ------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(asio_fixture, "asio: the lease of async_with_lock lives until the coroutine has ended", "[T88]") {
  net::steady_timer goes_on(io, net::steady_timer::time_point::max());
  int result = 0;
  const auto end = spawn([&]() -> awaitable<void> {
    result = co_await locks.async_with_lock("k", [&](lease& held) -> awaitable<int> {
      CHECK(fence_of("k") == held.fencing_token());
      co_await goes_on.async_wait(net::as_tuple(net::use_awaitable));
      CHECK_FALSE(is_free("k"));
      co_return 42;
    });
  });
  turn();
  CHECK_FALSE(end->over);
  CHECK_FALSE(is_free("k"));
  goes_on.cancel();
  turn();
  CHECK(end->over);
  CHECK(result == 42);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(asio_fixture, "asio: async_with_lock passes an exception on, after the release", "[T88]") {
  const lock_keys both{"a", "b"};
  const auto end = spawn([&]() -> awaitable<void> {
    try {
      co_await locks.async_with_locks(both, [&](const multi_lease& held) -> awaitable<void> {
        CHECK(held.size() == 2);
        co_await net::post(net::use_awaitable);
        throw std::runtime_error("no");
      });
    } catch (const std::runtime_error&) {
      CHECK(is_free("a"));
      CHECK(is_free("b"));
      throw;
    }
  });
  turn();
  REQUIRE(end->over);
  CHECK_THROWS_AS(std::rethrow_exception(end->failed), std::runtime_error);
}

TEST_CASE_METHOD(asio_fixture, "asio: async_with_lock refuses the result of a coroutine that lost its lease", "[T88]") {
  bool ran = false;
  const auto end = spawn([&]() -> awaitable<void> {
    co_await locks.async_with_lock("k", {.ttl = 1s, .renewal = renewal::none}, [&]() -> awaitable<std::string> {
      clock.advance(2s);
      ran = true;
      co_return "worthless";
    });
  });
  turn();
  CHECK(ran);
  CHECK(end->code() == errc::lost);
}

TEST_CASE_METHOD(asio_fixture, "asio: a coroutine that lets its lease go itself is not checked") {
  const auto end = spawn([&]() -> awaitable<void> {
    co_await locks.async_with_lock("k", [&](lease& held) -> awaitable<void> {
      co_await locks.async_release(std::move(held));
      CHECK(is_free("k"));
    });
  });
  turn();
  CHECK(end->over);
  CHECK(end->failed == nullptr);
}

TEST_CASE_METHOD(asio_fixture, "asio: a coroutine enters what it holds only in the name of one owner") {
  const auto end = spawn([&]() -> awaitable<void> {
    const auto mine = locks.as(owner());
    const auto outer = co_await mine.async_acquire("k");
    const auto other = co_await locks.async_try_acquire("k");
    CHECK_FALSE(other);
    const auto inner = co_await mine.async_acquire("k");
    CHECK(inner.reentered());
    CHECK(inner.fencing_token() == outer.fencing_token());
  });
  turn();
  REQUIRE(end->over);
  CHECK(end->failed == nullptr);
}

// ---- cancellation ---------------------------------------------------------------------------------------------------

TEST_CASE(
    "asio: a loop that is destroyed before the service ends the waits of its coroutines, and no handler is called") {
  lock_service waits{"memory:asio_loop_end"};
  lock_service others{"memory:asio_loop_end"};
  auto theirs = others.acquire("k");
  bool resumed = false;
  {
    net::io_context loop;
    const dlock::asio::service on{waits, loop.get_executor()};
    const auto wait = [&]() -> awaitable<void> {
      const auto held = co_await on.async_acquire("k", {.wait = 60s});
      resumed = true;
    };
    net::co_spawn(loop, wait(), net::detached);
    loop.poll();
    loop.stop();
  }
  theirs.release();
  // The waiter gets the key, finds its loop gone, and gives the key back.
  CHECK(granted(others.acquire("k", {.wait = 20s})));
  while (waits.count(event::kind::granted) == 0) std::this_thread::yield();
  CHECK(granted(others.acquire("k", {.wait = 20s})));
  CHECK_FALSE(resumed);
}

TEST_CASE_METHOD(asio_fixture, "asio: a cancellation slot ends a wait, and options.cancel does") {
  const auto theirs = held_elsewhere("k", {.ttl = 1h});
  const auto type = GENERATE(net::cancellation_type::terminal, net::cancellation_type::total);
  const bool by_slot = GENERATE(true, false);
  net::cancellation_signal signal;
  std::stop_source stop;
  std::error_code end;
  int calls = 0;
  locks.async_acquire("k", {.wait = 1h, .cancel = stop.get_token()},
                      net::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& failed, const lease&) {
                        end = code_of(failed);
                        ++calls;
                      }));
  turn();
  CHECK(calls == 0);
  by_slot ? signal.emit(type) : static_cast<void>(stop.request_stop());
  turn();
  CHECK(calls == 1);
  CHECK(end == errc::cancelled);
  signal.emit(type);  // the slot is empty
}

TEST_CASE_METHOD(asio_fixture, "asio: a cancelled coroutine releases its lease before it ends", "[T88]") {
  net::cancellation_signal signal;
  bool over = false;
  std::exception_ptr failed;
  net::co_spawn(
      io,
      [&]() -> awaitable<void> {
        co_await locks.async_with_lock("k", [&]() -> awaitable<void> {
          net::steady_timer forever(io, net::steady_timer::time_point::max());
          co_await forever.async_wait(net::use_awaitable);
        });
      },
      net::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& why) {
        failed = why;
        over = true;
        CHECK(is_free("k"));
      }));
  turn();
  CHECK_FALSE(is_free("k"));
  signal.emit(net::cancellation_type::terminal);
  turn();
  CHECK(over);
  REQUIRE(failed != nullptr);
  CHECK_THROWS_AS(std::rethrow_exception(failed), boost::system::system_error);
}

TEST_CASE_METHOD(asio_fixture, "asio: what is granted to a coroutine that is cancelled meanwhile is released") {
  net::cancellation_signal signal;
  bool over = false, ran = false;
  const auto taking = store->hold(verb::insert);
  net::co_spawn(
      io,
      [&]() -> awaitable<void> {
        co_await locks.async_with_lock("k", [&]() -> awaitable<void> {
          ran = true;
          co_return;
        });
      },
      net::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& why) { over = why != nullptr; }));
  io.poll();
  REQUIRE(taking->reached());
  signal.emit(net::cancellation_type::terminal);
  taking->open();
  turn();
  CHECK(over);
  CHECK_FALSE(ran);
  CHECK(is_free("k"));
}

// How many coroutines wait at the same time, and on what.

namespace {

namespace net = boost::asio;
using net::awaitable;

/// Threads of this process.
int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

}  // namespace

TEST_CASE(
    "asio: ten thousand coroutines need four connections, no more threads than one, and each is alone in its key") {
  constexpr int many = 10'000, keys = 8;
  const auto store = std::make_shared<stores::memory_store>();
  lock_service rival(store);
  net::io_context io;
  lock_service service(store, {.connections = 3, .max_waiters = many});
  const dlock::asio::service locks(service, io.get_executor());
  std::array<int, keys> inside{};
  int done = 0, shared = 0;
  const auto task = [&](int number) -> awaitable<void> {
    const auto key = number % keys;
    co_await locks.async_with_lock("k" + std::to_string(key), {.wait = 10min}, [&]() -> awaitable<void> {
      const auto at = static_cast<std::size_t>(key);
      shared += ++inside[at] == 1 ? 0 : 1;
      co_await net::post(net::use_awaitable);  // others run meanwhile
      --inside[at];
      ++done;
    });
  };
  std::vector<lease> held;
  const auto hold_all = [&] {
    for (int i = 0; i < keys; ++i) held.push_back(rival.acquire("k" + std::to_string(i)));
  };
  net::co_spawn(io, task(0), net::detached);
  io.run();
  io.restart();
  hold_all();
  const auto few = threads();
  for (int i = 0; i < many; ++i) net::co_spawn(io, task(i), net::detached);
  auto& core = *dlock::detail::access::core_of(service);
  while (core.all().queue.waiting() < many) io.poll();
  CHECK(dlock::test::eventually(
      [&] { return threads() <= few + 3; }));  // workers: at most one for each connection, whoever waits
  CHECK(core.all().statements.open() <= 4);
  held.clear();
  io.run();
  CHECK(done == many + 1);
  CHECK(shared == 0);
  CHECK(dlock::test::eventually([&] { return threads() <= few + 3; }));
}
