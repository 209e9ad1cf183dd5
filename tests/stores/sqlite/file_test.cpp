// SPDX-License-Identifier: BSL-1.0

/// The SQLite store and its file: schema, prefixes, what can be wrong with a file, reboots.

#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>

#include "contract/backends/sqlite/file_fixture.hpp"
#include "dlock/error.hpp"
#include "dlock/stores/sqlite.hpp"
#include "stores/sqlite/client/connection.hpp"
#include "stores/sqlite/without_rights.hpp"
#include "support/raw_sqlite.hpp"

using namespace dlock;
using namespace dlock::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

void check_refused(const std::string& url, const std::string& text) {
  INFO(url);
  const auto store = open_store(url);
  CHECK_THROWS_MATCHES(store->prepare(), store_error, MessageMatches(ContainsSubstring(text)));
}

}  // namespace

TEST_CASE("sqlite file: schema=create makes a file in WAL mode, and finds what it made", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  {
    actor a(fixture);
    a.acquire("k");
    actor b(fixture);
    CHECK(b.at("k").holder == a.id);
  }
  raw_sqlite raw(fixture.path);
  CHECK(raw.text("PRAGMA journal_mode") == "wal");
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock") == "1");
  CHECK(raw.text("SELECT version FROM dlock_schema_version") == "1");
}

TEST_CASE("sqlite file: every connection syncs each commit, whatever others have chosen", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  raw_sqlite(fixture.path).run("PRAGMA journal_mode = DELETE");  // of an application that had the file before
  const auto store = fixture.open();
  raw_sqlite foreign(fixture.path);
  foreign.run("PRAGMA synchronous = OFF");
  for (int i = 0; i < 3; ++i) {
    const auto connection = connect(*store, 1s);
    auto& ours = dynamic_cast<stores::sqlite::sqlite_connection&>(*connection);
    CHECK(raw_sqlite::text(ours.handle(), "PRAGMA synchronous") == "2");  // FULL
    CHECK(raw_sqlite::text(ours.handle(), "PRAGMA journal_mode") == "wal");
  }
}

TEST_CASE("sqlite file: many may create the same file at once", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  std::latch start(8);
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        try {
          fixture.open();
        } catch (const std::exception&) {
          ++failures;
        }
      });
    }
  }
  CHECK(failures == 0);
  CHECK(raw_sqlite(fixture.path).text("SELECT COUNT(*) FROM dlock_floor WHERE id = 1") == "1");
}

TEST_CASE("sqlite file: schema=verify changes nothing and says what is missing", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  check_refused(fixture.url() + "?schema=verify", "does not exist");
  CHECK_FALSE(std::filesystem::exists(fixture.path));
  raw_sqlite raw(fixture.path);
  raw.run("CREATE TABLE application(id INTEGER)");
  check_refused(fixture.url() + "?schema=verify", "no lock tables");
  check_refused(fixture.url() + "?schema=none", "no such table");
  CHECK(raw.text("SELECT COUNT(*) FROM sqlite_master") == "1");

  fixture.open();
  raw.run("INSERT INTO application VALUES(7)");  // a neighbour in the same file
  CHECK_NOTHROW(open_store(fixture.url() + "?schema=verify")->prepare());
  CHECK_NOTHROW(open_store(fixture.url() + "?schema=none")->prepare());
}

TEST_CASE("sqlite file: lock tables of a newer version are refused", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  fixture.open();
  raw_sqlite(fixture.path).run("UPDATE dlock_schema_version SET version = 99");
  check_refused(fixture.url(), "99");
  check_refused(fixture.url() + "?schema=verify", "99");
}

TEST_CASE("sqlite file: stores with different prefixes in one file don't meet", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  fixture.parameters = "?prefix=other_";
  actor b(fixture);
  CHECK(a.acquire("k") == 1);
  CHECK(b.acquire("k") == 1);
  CHECK(b.kill(a.id) == outcome::no);
  std::vector<holder_info> held;
  CHECK(answer(b.store->admin()->inspect(*b.connection, {.resource = "k"}, held)) == outcome::yes);
  REQUIRE(held.size() == 1);
  CHECK(held[0].session == b.id);
  raw_sqlite raw(fixture.path);
  CHECK(raw.text("SELECT COUNT(*) FROM other_lock") == "1");
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock") == "1");
}

TEST_CASE("sqlite file: what is wrong with a file is said with its path", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  check_refused("sqlite:" + (fixture.folder / "nowhere/locks.db"), "nowhere' does not exist");
  check_refused("sqlite:" + (fixture.folder / "."), "is a folder");
  std::ofstream(fixture.path) << std::string(5000, 'x');
  check_refused(fixture.url(), "not a database");
  check_refused(fixture.url(), fixture.path);
}

TEST_CASE("sqlite file: a file or folder without the right to write is refused", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  fixture.open();
  const auto file = fixture.folder / "locks.db";
  ::chmod((fixture.folder / ".").c_str(), 0755);
  for (const char* part : {"", "-wal", "-shm"}) ::chmod((file + part).c_str(), 0444);
  const as_nobody now;
  check_refused(fixture.url(), "(code ");
  check_refused(fixture.url(), file);
  check_refused("sqlite:" + (fixture.folder / "new.db"), "unable to open database file");
}

TEST_CASE("sqlite file: a deleted or replaced file is noticed before anything is granted", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  const auto fence = a.acquire("k");
  const auto before = a.connection->identity();
  CHECK(before.server.find(fixture.path) != std::string::npos);
  const bool replaced = GENERATE(false, true);
  std::filesystem::rename(fixture.path, fixture.path + ".old");
  if (replaced) fixture.open();

  const reply taken = a.run({.action = verb::take, .resource = "other", .session = a.id, .nonce = 99});
  CHECK(taken.result == outcome::failed);
  CHECK(taken.why.connection);
  CHECK_THAT(taken.why.text, ContainsSubstring("moved or deleted"));
  CHECK_FALSE(a.connection->usable());
  const reply renewed = a.store->session(*a.connection, session_verb::renew, {.id = a.id, .ttl = for_long});
  CHECK(renewed.result == outcome::failed);
  CHECK(a.release("k", fence).result == outcome::failed);

  fault why;
  const auto again = a.store->connect(1s, why);
  REQUIRE((again != nullptr) == replaced);
  if (replaced) {
    CHECK(again->identity().server != before.server);
  } else {
    CHECK(why.connection);
  }
}

TEST_CASE("sqlite file: a write that failed half-way is unknown, and can be cancelled later", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(std::filesystem::file_size(fixture.path + "-wal") + 100);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const reply taken = a.take("k");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  INFO(taken.why.text);
  CHECK(taken.result == outcome::unknown);
  CHECK(taken.why.connection);
  CHECK_THAT(taken.why.text, ContainsSubstring(fixture.path));
  CHECK_FALSE(a.connection->usable());

  fault why;
  const auto lost = a.connection->identity();
  const auto nonce = a.nonce;
  a.connection = a.store->connect(1s, why);
  REQUIRE(a.connection != nullptr);
  CHECK(a.connection->identity().server == lost.server);
  CHECK(a.store->terminate(*a.connection, lost));
  answer(a.cancel("k", nonce));
  CHECK_FALSE(a.at("k").holder);
  CHECK(answer(a.take("k")) == outcome::yes);
}

TEST_CASE("sqlite file: a missing floor row is said and not taken for a busy key", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor a(fixture);
  raw_sqlite(fixture.path).run("DELETE FROM dlock_floor");
  const reply refused = a.insert("k");
  CHECK(refused.result == outcome::failed);
  CHECK_THAT(refused.why.text, ContainsSubstring("dlock_floor"));
  fixture.open();
  CHECK(answer(a.insert("k")) == outcome::yes);
}

TEST_CASE("sqlite file: whatever another boot of the host left is free", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor kept(fixture), own(fixture), gone(fixture);
  const auto fence = kept.acquire("kept");
  own.acquire("own", for_long);
  gone.acquire("gone", for_long);
  gone.close();
  raw_sqlite raw(fixture.path);
  raw.run("UPDATE dlock_session SET boot = 'another', expires_at_us = expires_at_us + 1000000000000");
  raw.run("UPDATE dlock_floor SET fence = fence + 1 WHERE id = 2");
  raw.run("UPDATE dlock_lock SET acquired_at_us = acquired_at_us + 1000000000000");

  actor now(fixture);
  for (const char* key : {"kept", "own", "gone"}) CHECK_FALSE(now.at(key).holder);
  CHECK(now.at("kept").fence == fence);
  CHECK(kept.renew(for_long) == outcome::no);
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_session") == "1");
  // Times of another boot would keep clean-up away from these keys for ever.
  CHECK(raw.text("SELECT COUNT(*) FROM dlock_lock WHERE acquired_at_us > 1000000000000") == "0");
  CHECK(now.acquire("kept") == fence + 1);
}

TEST_CASE("sqlite file: opening again in the same boot leaves everything as it is", "[unit][sqlite]") {
  sqlite_file_fixture fixture;
  actor kept(fixture), own(fixture);
  kept.acquire("kept");
  own.acquire("own", for_long);
  own.close();
  actor another(fixture);
  CHECK(another.at("kept").holder == kept.id);
  CHECK(another.at("own").holder == own.id);
  CHECK(kept.renew(for_long) == outcome::yes);

  // What looks alive stays alive, even where a time that is still to come says that there was a reboot.
  raw_sqlite(fixture.path).run("UPDATE dlock_floor SET fence = fence + 3600000000 WHERE id = 2");
  fixture.open();
  CHECK(another.at("kept").holder == kept.id);
  CHECK_FALSE(another.at("own").holder);
}
