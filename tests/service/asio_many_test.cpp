// SPDX-License-Identifier: BSL-1.0
// How many coroutines wait at the same time, and on what.
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "api/access.hpp"
#include "dlock/asio.hpp"
#include "dlock/stores/memory.hpp"
#include "support/eventually.hpp"

namespace {

using namespace dlock;
using namespace std::chrono_literals;
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

TEST_CASE("asio: ten thousand coroutines need four connections, no more threads than one, and each is alone in its key",
          "[asio][many]") {
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
