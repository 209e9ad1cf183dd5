// SPDX-License-Identifier: BSL-1.0

/// fairness::fifo in the waiter table; tests/contract/store/fifo_test.cpp has what is the same on every store.

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "contract/backends/mysql/fixtures.hpp"
#include "contract/store/fifo_fixture.hpp"

namespace dlock::test {

namespace {

struct place {
  mysql_store_fixture fixture{};
};
struct fifo_fixture : place, ordered_key {
  fifo_fixture() : ordered_key(fixture) {}
};

}  // namespace

TEST_CASE_METHOD(fifo_fixture, "fifo: the row of a dead waiter keeps nobody from the key", "[fifo]") {
  raw_mysql root = raw_mysql::root();
  root.run("INSERT INTO " + fixture.tables.table("waiter") + " SELECT 'k', acquired_at_us - 1, X'" +
           id128::random().hex() + "', X'" + id128::random().hex() + "', NULL FROM " + fixture.tables.table("lock") +
           " WHERE lock_key = 'k'");
  let_go();
  CHECK_FALSE(poll(other).holder.others_first);
  CHECK(answer(take(other)) == outcome::yes);
}

TEST_CASE_METHOD(fifo_fixture, "fifo: without the waiter table keys are taken as ever, and it is said once", "[fifo]") {
  const auto store = fixture.open();
  heard news;
  store->listen(news);
  const auto on = connect(*store);
  raw_mysql::root().run("DROP TABLE " + fixture.tables.table("waiter"));
  let_go();
  for (const auto action : {verb::poll, verb::take}) {
    const request asked{
        .action = action, .resource = "k", .session = other.id, .nonce = ++other.nonce, .in_order = true};
    CHECK(answer(executed(*store, *on, asked)) == outcome::yes);
  }
  CHECK(news.reasons == 1);
  store->unlisten(news);
}

}  // namespace dlock::test
