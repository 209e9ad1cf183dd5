// SPDX-License-Identifier: BSL-1.0
// A small server: one loop on one thread, hundreds of clients at the same time, and no thread that waits for a lock.
// Each client is a coroutine, which sells a piece, moves one between two products, or looks at one that nobody works
// on.

#include <fmt/core.h>
#include <dlock/asio.hpp>
#include <dlock/dlock.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <map>
#include <string>

#include "support/command_line.hpp"

namespace {

using namespace std::chrono_literals;
namespace net = boost::asio;
using net::awaitable;

struct settings {
  std::string url = "sqlite:locks.db";
  int clients = 300;
  int products = 6;
};

/// What the locks protect. Whoever changes it reads it, does something that takes time, and writes it: two at once
/// would lose what one of them has written.
struct warehouse {
  std::map<int, int> stock{};
  int sold = 0;
  int moved = 0;
  int turned_away = 0;
  int failed = 0;
};

awaitable<void> some_time(std::chrono::microseconds how_long) {
  net::steady_timer timer(co_await net::this_coro::executor, how_long);
  co_await timer.async_wait(net::use_awaitable);
}

// [sell]
/// One piece. Hundreds of these run at once, on one thread; those that want the same product run one by one.
awaitable<void> sell(const dlock::asio::service& locks, warehouse& house, int product) {
  const dlock::lock_options patient{.ttl = 10s, .wait = 60s};
  const int left = co_await locks.async_with_lock(
      dlock::key<"product:{number}">(product), patient, [&](const dlock::lease& held) -> awaitable<int> {
        const int before = house.stock[product];
        co_await some_time(200us);  // asks somebody else; meanwhile other coroutines run
        held.ensure_held();
        co_return house.stock[product] = before - 1;
      });
  // Only now it is certain that the lock was ours all the time: otherwise async_with_lock has thrown lock_lost.
  ++house.sold;
  if (left == 0) fmt::print("product {} is sold out\n", product);
}
// [/sell]

/// From one product to another: both locks, or none.
awaitable<void> move_one(const dlock::asio::service& locks, warehouse& house, int from, int to) {
  const dlock::lock_keys both{dlock::key<"product:{number}">(from), dlock::key<"product:{number}">(to)};
  const dlock::lock_options patient{.ttl = 10s, .wait = 60s};
  co_await locks.async_with_locks(both, patient, [&]() -> awaitable<void> {
    const int taken = house.stock[from] - 1;
    const int given = house.stock[to] + 1;
    co_await some_time(200us);
    house.stock[from] = taken;
    house.stock[to] = given;
  });
  ++house.moved;
}

/// A client who doesn't wait: the lease is asked for and released by hand.
awaitable<void> peek(const dlock::asio::service& locks, warehouse& house, int product) {
  auto held = co_await locks.async_try_acquire(dlock::key<"product:{number}">(product));
  if (!held) {
    ++house.turned_away;
    co_return;
  }
  co_await some_time(100us);
  co_await locks.async_release(std::move(held));  // without it the destructor would release, and block this thread
}

awaitable<void> client(const dlock::asio::service& locks, warehouse& house, int number, int products) {
  try {
    const int product = number % products;
    switch (number % 4) {
      case 0: co_await move_one(locks, house, product, (product + 1) % products); break;
      case 1: co_await peek(locks, house, product); break;
      default: co_await sell(locks, house, product); break;
    }
  } catch (const std::exception& failed) {
    ++house.failed;
    fmt::print("client {}: {}\n", number, failed.what());
  }
}

/// Threads of this process.
int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return 0;
}

bool run(const settings& s) {
  net::io_context loop;
  dlock::lock_service service{s.url};  // destroyed before the loop, which its handlers go to
  const dlock::asio::service locks{service, loop.get_executor()};
  warehouse house;
  const int each = s.clients;
  for (int product = 0; product != s.products; ++product) house.stock[product] = each;
  const int all = each * s.products;

  // [end]
  // A signal closes the service; it does not stop the loop. Each coroutine that waits for a lock gets
  // lock_refused(closed), a coroutine that holds one runs to its end, and then run() returns by itself.
  net::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([&](const auto& cancelled, int) {
    if (!cancelled) service.close(0s);
  });
  // [/end]
  int running = s.clients;
  for (int number = 0; number != s.clients; ++number) {
    net::co_spawn(loop, client(locks, house, number, s.products), [&](const std::exception_ptr&) {
      if (--running == 0) signals.cancel();
    });
  }
  const auto begun = std::chrono::steady_clock::now();
  loop.run();
  const auto took = std::chrono::steady_clock::now() - begun;

  int left = 0;
  for (const auto& [product, count] : house.stock) left += count;
  fmt::print("{} clients on one loop in {} ms, {} threads in all: {} sold, {} moved, {} turned away, {} failed\n",
             s.clients, std::chrono::duration_cast<std::chrono::milliseconds>(took).count(), threads(), house.sold,
             house.moved, house.turned_away, house.failed);
  const bool right = left == all - house.sold && house.failed == 0;
  fmt::print("{} pieces were there, {} are left: {}\n", all, left, right ? "none was lost" : "WRONG");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"A server loop with hundreds of clients, who wait for locks without a thread"};
  settings s;
  options.database(s.url);
  options.number("--clients", s.clients, 1, 100'000);
  options.number("--products", s.products, 2, 1000);
  return options.run(argc, argv, [&] { return run(s) ? 0 : 1; });
}
