// SPDX-License-Identifier: BSL-1.0

/// Connections that are made, and locks that are waited for, while memory runs out.

#include "support/mysql_fixture.hpp"
#include "support/scarce_memory.hpp"
#include "support/test.hpp"
#include "support/waits_without_memory.hpp"

#include "dlock/odb/database.hpp"

namespace dlock::test {

namespace {

/// Calls it again and again, each time with one allocation more before memory runs out, until there is enough.
template <class Body>
void run_out_everywhere(Body body) {
  for (std::size_t number = 0;; ++number) {
    REQUIRE(number < 5'000);
    const scarce_memory scarce(number);
    const bool done = body();
    if (scarce.ran_out()) continue;
    CHECK(done);
    return;
  }
}

}  // namespace

TEST_CASE("mysql memory: a connection that is not made for want of memory is closed once") {
  const mysql_fixture tables;
  const auto store = tables.open("&tls=off");
  run_out_everywhere([&] {
    fault why;
    return store->connect(5s, why) != nullptr;
  });
  const auto url = tables.url("&tls=off");
  run_out_everywhere([&] {
    try {
      const auto database = open_database(url);
      auto connection = database->connection();
      const ample_memory rest;  // ODB's pool, which takes it back, ends the program without memory
      connection.reset();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  });
}

TEST_CASE("mysql memory: a wait that runs out of it ends, and leaves nothing held") {
  const mysql_fixture tables;
  check_waits_without_memory(tables.url());
}

}  // namespace dlock::test
