// SPDX-License-Identifier: BSL-1.0
// Coroutines: pairs of acquire and release beside those of threads (on the private MariaDB), and what one
// that waits takes of memory and threads.
#include <fmt/core.h>
#include <malloc.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dlock/asio.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/stores/memory.hpp"
#include "harness.hpp"

namespace {

using namespace dlock;
using namespace std::chrono_literals;
namespace net = boost::asio;
using net::awaitable;

constexpr int many = 10'000;
constexpr int keys = 8;

std::size_t heap() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

lock_key key(int number) { return "k" + std::to_string(number % keys); }
const lock_options patient{.wait = 10min};

/// Bytes for each of so many that wait. `begin` starts one.
double bytes_each(net::io_context& io, const std::function<void(int)>& begin) {
  const auto turn = [&] {
    for (int i = 0; i < 30; ++i) {
      io.poll();
      std::this_thread::sleep_for(10ms);
    }
  };
  for (int i = 0; i < 100; ++i) begin(i);
  turn();
  const auto before = heap();
  for (int i = 0; i < many; ++i) begin(i);
  turn();
  return static_cast<double>(heap() - before) / many;
}

void memory() {
  const auto where = std::make_shared<stores::memory_store>();
  lock_service rival(where);
  net::io_context io;
  lock_service service(where, {.connections = 3, .max_waiters = 4 * many, .close_limit = 60s});
  const dlock::asio::service locks(service, io.get_executor());
  std::vector<lease> held;
  for (int i = 0; i < keys; ++i) held.push_back(rival.acquire(key(i)));
  const int few = threads();
  const auto timer = bytes_each(io, [&](int) {
    const auto sleeps = [&]() -> awaitable<void> {
      net::steady_timer forever(io, 10min);
      co_await forever.async_wait(net::use_awaitable);
    };
    net::co_spawn(io, sleeps, net::detached);
  });
  const auto handler = bytes_each(io, [&](int i) {
    service.async_acquire(key(i), patient, [](const std::exception_ptr&, lease mine) {
      if (mine) async_release(std::move(mine), [](const std::exception_ptr&) {});
    });
  });
  const auto coroutine = bytes_each(io, [&](int i) {
    const auto waits = [](const dlock::asio::service& in, int number) -> awaitable<void> {
      const auto name = key(number);
      co_await in.async_with_lock(name, patient, []() -> awaitable<void> { co_return; });
    };
    net::co_spawn(io, waits(locks, i), net::detached);
  });
  fmt::print(
      "bytes that one of {} takes which wait for {} keys: a call with a handler {:.0f}, a coroutine {:.0f}, "
      "(one that waits for a timer {:.0f}); {} threads, {} before\n",
      many, keys, handler, coroutine, timer, threads(), few);
  std::fflush(stdout);
  dlock::bench::figures::add("a coroutine that waits in the queue", "bytes", {coroutine}, {.at_most = 2560});
  std::_Exit(dlock::bench::figures::exit_code());  // they wait for ten minutes
}

/// Pairs a second of so many coroutines, on keys of their own.
double pairs(lock_service& service, int coroutines, std::chrono::milliseconds time) {
  net::io_context io;
  const dlock::asio::service locks(service, io.get_executor());
  const auto end = std::chrono::steady_clock::now() + time;
  long done = 0;
  const auto work = [&](int number) -> awaitable<void> {
    const lock_key name("coroutine " + std::to_string(number));
    while (std::chrono::steady_clock::now() < end) {
      auto held = co_await locks.async_acquire(name, patient);
      co_await locks.async_release(std::move(held));
      ++done;
    }
  };
  for (int i = 0; i < coroutines; ++i) net::co_spawn(io, work(i), net::detached);
  io.run();
  return static_cast<double>(done) / std::chrono::duration<double>(time).count();
}

void speed(const std::string& url) {
  lock_service service(url, {.connections = 8});
  std::vector<double> by_threads, by_coroutines, ratios;
  std::vector<lock_key> names;
  for (int i = 0; i < 64; ++i) names.emplace_back("thread " + std::to_string(i));
  pairs(service, 1000, 1s);
  for (int round = 0; round < 5; ++round) {
    by_threads.push_back(dlock::bench::per_second(
        64, 2s, [&](int i) { service.acquire(names[static_cast<std::size_t>(i)], patient).release(); }));
    by_coroutines.push_back(pairs(service, 1000, 2s));
    ratios.push_back(by_coroutines.back() / by_threads.back());
  }
  fmt::print("pairs/s on keys of their own, 8 connections: 64 threads {:.0f}, 1000 coroutines {:.0f} (x {:.2f})\n",
             dlock::bench::median(by_threads), dlock::bench::median(by_coroutines), dlock::bench::median(ratios));
  dlock::bench::figures::add("pairs of 1,000 coroutines on 8 connections, of 64 threads", "ratio", ratios);
}

}  // namespace

int main() {
  if (const char* const at = std::getenv("DLOCK_TEST_MYSQL_OWNER_URL")) speed(bench::by_socket(store_url::parse(at)));
  memory();
}
