// SPDX-License-Identifier: BSL-1.0
// The example of docs/asynchronous.md with rows, so that it compiles and does what the page says.
#include "odb/rows/row_fixture.hpp"
//

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "dlock/asio.hpp"
#include "dlock/odb/lock_row.hpp"
#include "support/test.hpp"

using namespace dlock::test;
namespace net = boost::asio;
using net::awaitable;

namespace {

// [coroutine]
awaitable<void> ship_later(dlock::asio::service locks, net::thread_pool& pool, odb::database& db, int id) {
  const dlock::owner me;
  const dlock::lock_options patient{.wait = 30s};
  const auto key = dlock::row<order>(locks.locks(), db, id);
  co_await locks.as(me).async_with_lock(key, patient, [&]() -> awaitable<void> {  // no thread waits for the row
    const auto blocking = [&]() -> awaitable<void> {
      const dlock::owner_scope here(me);  // so that lock_row enters the lock of this coroutine, and only loads
      auto row = dlock::lock_row<order>(locks.locks(), db, id);
      row->status = "shipped";
      row.commit();
      co_return;
    };
    co_await net::co_spawn(pool, blocking, net::use_awaitable);  // ODB blocks a thread of the pool
  });
}
// [/coroutine]

}  // namespace

TEST_CASE_METHOD(rows, "asynchronous: a coroutine waits for a row without a thread, and writes it on a pool") {
  for (int id = 1; id != 4; ++id) add(order{.id = id, .status = "paid"});
  net::io_context loop;
  net::thread_pool pool(1);
  const dlock::asio::service service(locks, loop);
  int done = 0;
  auto theirs = dlock::lock_row<order>(others, db, 1);
  for (const int id : {1, 2, 3, 3}) {
    net::co_spawn(loop, ship_later(service, pool, db, id), [&](const std::exception_ptr& failed) {
      if (failed) std::rethrow_exception(failed);
      if (++done == 3) theirs.release();  // the one that waits for it has kept neither the loop nor the pool
    });
  }
  loop.run();
  pool.join();
  CHECK(done == 4);
  for (int id = 1; id != 4; ++id) CHECK(load<order>(id)->status == "shipped");
}
