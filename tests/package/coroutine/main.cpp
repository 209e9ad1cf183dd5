// SPDX-License-Identifier: BSL-1.0
// A program of somebody who uses dlock in coroutines.
#include <dlock/asio.hpp>
#include <dlock/dlock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

int main() {
  boost::asio::io_context loop;
  dlock::lock_service service{"memory:"};
  const dlock::asio::service locks{service, loop.get_executor()};
  int result = 1;
  const auto work = [&]() -> boost::asio::awaitable<void> {
    result = co_await locks.async_with_lock("package:test", []() -> boost::asio::awaitable<int> { co_return 0; });
  };
  boost::asio::co_spawn(loop, work, boost::asio::detached);
  loop.run();
  return result;
}
