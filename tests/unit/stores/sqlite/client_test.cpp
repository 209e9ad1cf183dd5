// SPDX-License-Identifier: BSL-1.0
// The public header comes before all others: what it declares must hide nothing that the internal ones name.
#include "dlock/stores/sqlite.hpp"
//

#include <filesystem>

#include "stores/sqlite/client/busy_retry.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/client/settings.hpp"
#include "stores/sqlite/lease_table/connection.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"
#include "stores/sqlite/lease_table/store.hpp"
#include "support/test.hpp"

using namespace dlock::stores::sqlite;
using namespace dlock;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using stores::sqlite::lease_table::lease_settings;

TEST_CASE("sqlite error: a busy file counts as contended, whatever made it busy") {
  for (const int code : {SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT, SQLITE_BUSY_RECOVERY}) {
    const fault why = sqlite_fault(code, "l.db");
    CHECK(why.native == code);
    CHECK(why.contended);
    CHECK(why.transient);
    CHECK_FALSE(why.connection);
    CHECK(is_busy(code));
    CHECK_FALSE(may_be_committed(code));
  }
  CHECK_FALSE(is_busy(SQLITE_LOCKED));
}

TEST_CASE("sqlite error: what ends the connection and what does not") {
  for (const int code : {SQLITE_READONLY, SQLITE_READONLY_DBMOVED, SQLITE_CANTOPEN, SQLITE_IOERR_WRITE, SQLITE_CORRUPT,
                         SQLITE_NOTADB, SQLITE_INTERRUPT, SQLITE_PERM}) {
    INFO(code);
    CHECK(sqlite_fault(code, "l.db").connection);
    CHECK_FALSE(sqlite_fault(code, "l.db").contended);
  }
  for (const int code : {SQLITE_ERROR, SQLITE_FULL, SQLITE_CONSTRAINT_NOTNULL, SQLITE_NOMEM}) {
    INFO(code);
    CHECK_FALSE(sqlite_fault(code, "l.db").connection);
  }
}

TEST_CASE("sqlite error: the same statement may succeed later only where nobody has to repair anything") {
  CHECK(sqlite_fault(SQLITE_NOMEM, "l.db").transient);
  CHECK(sqlite_fault(SQLITE_PROTOCOL, "l.db").transient);
  CHECK(sqlite_fault(SQLITE_FULL, "l.db").transient);
  for (const int code : {SQLITE_READONLY, SQLITE_CORRUPT, SQLITE_ERROR, SQLITE_CANTOPEN}) {
    INFO(code);
    CHECK_FALSE(sqlite_fault(code, "l.db").transient);
  }
}

TEST_CASE("sqlite error: only a failed write or sync leaves open whether it was committed") {
  CHECK(may_be_committed(SQLITE_IOERR_FSYNC));
  CHECK(may_be_committed(SQLITE_IOERR_WRITE));
  CHECK_FALSE(may_be_committed(SQLITE_FULL));
  CHECK_FALSE(may_be_committed(SQLITE_INTERRUPT));
  CHECK_FALSE(may_be_committed(SQLITE_NOMEM));
}

TEST_CASE("sqlite error: the text names the file, the cause and the extended code") {
  CHECK(sqlite_fault(SQLITE_FULL, "/var/l.db").text ==
        "SQLite file '/var/l.db': database or disk is full (code 13): no space left");
  CHECK_THAT(sqlite_fault(SQLITE_BUSY_SNAPSHOT, "l.db").text, ContainsSubstring("begin it with BEGIN IMMEDIATE"));
  CHECK_THAT(sqlite_fault(SQLITE_READONLY_DBMOVED, "l.db").text, ContainsSubstring("(code 1032): the file was moved"));
  CHECK(sqlite_fault(SQLITE_ERROR, "l.db", "no such table: x").text == "SQLite file 'l.db': no such table: x (code 1)");
}

namespace {

lease_settings parsed(std::string_view url) { return lease_settings::parse(store_url::parse(url)); }

}  // namespace

TEST_CASE("sqlite URL: a path alone gives the defaults") {
  const auto relative = parsed("sqlite:locks.db");
  CHECK(relative.path == std::filesystem::current_path() / "locks.db");
  CHECK(relative.prefix == "dlock_");
  CHECK(relative.schema == stores::sql::schema_mode::create);
  CHECK(relative.busy_timeout == 5s);
  CHECK(relative.name == "sqlite:locks.db");
  CHECK(parsed("sqlite:/var/lib/locks.db").path == "/var/lib/locks.db");
}

TEST_CASE("sqlite URL: three slashes begin an absolute path, as in other URLs of files") {
  const auto settings = parsed("sqlite:///var/lib/locks.db?prefix=x_");
  CHECK(settings.path == "/var/lib/locks.db");
  CHECK(settings.name == "sqlite:/var/lib/locks.db?prefix=x_");
  CHECK(parsed("sqlite:///var/app@1/locks.db").path == "/var/app@1/locks.db");
  CHECK(parsed("sqlite:////var/lib/locks.db").path == "/var/lib/locks.db");  // a path with its slash, behind three
}

TEST_CASE("sqlite URL: parameters change what they name") {
  const auto settings = parsed("sqlite:a%20b.db?schema=verify&prefix=x_&busy_timeout=250");
  CHECK(settings.path == std::filesystem::current_path() / "a b.db");
  CHECK(settings.schema == stores::sql::schema_mode::verify);
  CHECK(settings.prefix == "x_");
  CHECK(settings.busy_timeout == 250ms);
  CHECK(parsed("sqlite:a?schema=none").schema == stores::sql::schema_mode::none);
}

TEST_CASE("sqlite URL: what can't work is refused by name and value, before any file is touched") {
  const auto refused = [](const char* url, const char* text) {
    INFO(url);
    CHECK_THROWS_MATCHES(open_store(url), std::invalid_argument, MessageMatches(ContainsSubstring(text)));
  };
  refused("sqlite:", "path is empty");
  refused("sqlite::memory:", "memory:");
  refused("sqlite:file:x?mode=memory", "memory:");
  refused("sqlite:a%00b", "zero byte");
  refused("sqlite://host/a.db", "no host");
  // Two slashes: read as a relative path by some, as a host by others.
  for (const char* url : {"sqlite://a.db", "sqlite://folder/a.db", "sqlite://./a.db", "sqlite://localhost/a.db"}) {
    refused(url, "write sqlite:path for a path relative to the working directory");
    refused(url, "sqlite:/path or sqlite:///path for an absolute one");
  }
  refused("sqlite://u:geheim@h/a.db", "no host");
  refused("sqlite://", "path is empty");
  refused("sqlite:///", "is a folder");
  refused("sqlite:folder/", "is a folder");
  refused("sqlite:a.db?shema=verify", "shema");
  refused("sqlite:a.db?schema=drop", "schema=drop");
  refused("sqlite:a.db?prefix=", "prefix");
  refused("sqlite:a.db?prefix=a-b", "a-b");
  refused("sqlite:a.db?filesystem=nfs", "filesystem=nfs");
  refused("sqlite:a.db?busy_timeout=0", "busy_timeout=0");
  refused("sqlite:a.db?busy_timeout=-5", "busy_timeout=-5");
  refused("sqlite:a.db?busy_timeout=5s", "busy_timeout=5s");
  refused("sqlite:a.db?busy_timeout=99999999999", "busy_timeout=99999999999");
}

namespace {

const std::atomic<bool> never{false};

sqlite_write_queue::time_point in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

void wait_for(sqlite_write_queue& queue, std::size_t waiting) {
  while (queue.waiting() != waiting) std::this_thread::yield();
}

}  // namespace

TEST_CASE("sqlite write queue: turns are given in the order of arrival") {
  constexpr int threads = 5;
  sqlite_write_queue queue;
  sqlite_write_queue::waiter mine;
  REQUIRE(queue.enter(mine, in(1min), never));
  std::vector<int> order;  // written only by who has the turn
  {
    std::vector<std::jthread> others;
    for (int i = 0; i < threads; ++i) {
      others.emplace_back([&, i] {
        sqlite_write_queue::waiter me;
        if (!queue.enter(me, in(1min), never)) return;
        order.push_back(i);
        queue.leave();
      });
      wait_for(queue, static_cast<std::size_t>(i) + 1);
    }
    queue.leave();
  }
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(queue.enter(mine, in(0ms), never));
}

TEST_CASE("sqlite write queue: who has waited long enough leaves the line without a trace") {
  sqlite_write_queue queue;
  sqlite_write_queue::waiter first, second;
  REQUIRE(queue.enter(first, in(1min), never));
  CHECK_FALSE(queue.enter(second, in(5ms), never));
  CHECK(queue.waiting() == 0);
  queue.leave();
  CHECK(queue.enter(second, in(0ms), never));
}

TEST_CASE("sqlite write queue: a cancelled waiter in the middle leaves the others in order") {
  sqlite_write_queue queue;
  sqlite_write_queue::waiter mine, cancelled_one;
  std::atomic<bool> cancelled{false};
  std::atomic<int> turns{0};
  std::atomic<bool> refused{false};
  REQUIRE(queue.enter(mine, in(1min), never));
  const auto take_turn = [&] {
    sqlite_write_queue::waiter me;
    if (!queue.enter(me, in(1min), never)) return;
    ++turns;
    queue.leave();
  };
  {
    std::jthread before(take_turn);
    wait_for(queue, 1);
    std::jthread middle([&] { refused = !queue.enter(cancelled_one, in(1min), cancelled); });
    wait_for(queue, 2);
    std::jthread behind(take_turn);
    wait_for(queue, 3);
    cancelled = true;
    queue.nudge(cancelled_one);
    wait_for(queue, 2);
    CHECK(turns == 0);
    queue.leave();
  }
  CHECK(refused);
  CHECK(turns == 2);
}

TEST_CASE("sqlite write queue: renewals announce themselves as long as they wait") {
  sqlite_write_queue queue;
  CHECK_FALSE(queue.urgent_waiting());
  {
    const sqlite_write_queue::urgent first(queue), second(queue);
    CHECK(queue.urgent_waiting());
  }
  CHECK_FALSE(queue.urgent_waiting());
}
