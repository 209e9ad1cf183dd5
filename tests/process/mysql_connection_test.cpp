// SPDX-License-Identifier: BSL-1.0
// Connections and processes that die while one of their statements runs at the server.
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>

#include "dlock/lock_service.hpp"
#include "process/taker.hpp"
#include "support/calls.hpp"
#include "support/mysql_user.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

namespace {

std::string upper(std::string text) {
  for (auto& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

struct waiting {
  std::string connection{};
  std::string statement{};
};

/// A database user of its own, so that a process's connections can be told from all others.
class user : public mysql_user {
 public:
  user() : mysql_user("taker" + std::to_string(::getpid())) { grant("ALL ON `locks`.*"); }

  /// The statement that waits for a row lock, once there is another one than `before`.
  waiting blocked(const waiting& before = {}) {
    waiting found;
    const auto seen = [&] {
      const auto rows =
          root().rows(fmt::format("SELECT t.trx_mysql_thread_id, p.query_id FROM information_schema.innodb_trx t JOIN "
                                  "information_schema.processlist p "
                                  "ON p.id=t.trx_mysql_thread_id WHERE t.trx_state='LOCK WAIT' AND p.user='{}'",
                                  name()));
      if (rows.empty() || rows[0][1] == before.statement) return false;
      found = {rows[0][0].value(), rows[0][1].value()};
      return true;
    };
    // The server makes the answer anew only if nobody has asked for 0.1 s.
    for (int i = 0; !seen(); ++i) {
      if (i == 100) FAIL("no statement of " << name() << " waits for a row");
      std::this_thread::sleep_for(120ms);
    }
    return found;
  }
  /// Returns when that statement waits no more and its connection is gone.
  void gone(const waiting& waiting) {
    const auto sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE id=" + waiting.connection;
    if (!eventually([&] { return root().one(sql) == "0"; })) FAIL("connection " << waiting.connection << " stays");
  }
  /// How many there were.
  std::size_t kill_all() {
    const auto ids = root().rows(fmt::format("SELECT id FROM information_schema.processlist WHERE user='{}'", name()));
    std::size_t killed = 0;
    for (const auto& row : ids) {
      try {
        root().run("KILL " + row[0].value());
        ++killed;
      } catch (const std::runtime_error&) {
        // It was gone already.
      }
    }
    return killed;
  }
};

/// A taker whose next acquire waits at the server: clean-up has forgotten the key, and somebody has locked the floor
/// that its first grant reads. (A take of a row that is there would not wait on every server.)
struct blocked_acquire {
  explicit blocked_acquire(const std::string& ttl_ms = "20000")
      : process(who.url(tables.url_by({proxy.port()})), {"--ttl", ttl_ms}) {
    before = process.take();
    process.ask("release", "released");
    locker.run(fmt::format("UPDATE {} SET fence={} WHERE id=1", tables.table("floor"), before.fence));
    locker.run(fmt::format("DELETE FROM {} WHERE lock_key='key'", tables.table("lock")));
    locker.run("BEGIN");
    locker.rows(fmt::format("SELECT * FROM {} WHERE id=1 FOR UPDATE", tables.table("floor")));
    process.say("take 15000");
    first = who.blocked();
  }
  void let_go() { locker.run("COMMIT"); }
  std::string row(const std::string& column) {
    return who.root().one(fmt::format("SELECT (SELECT {} FROM {} WHERE lock_key='key')", column, tables.table("lock")));
  }
  /// The taker has the key, alone, by the grant after `skipped` others; after it the key is free, and stays free.
  void must_end_well(std::uint64_t skipped = 0) {
    const auto mine = process.expect_held();
    CHECK(mine.fence == before.fence + skipped + 1);
    CHECK(mine.session == before.session);
    CHECK(row("fence") == std::to_string(mine.fence));
    lock_service locks(tables.url(), {.release_limit = 20s});
    CHECK_FALSE(granted(locks.try_acquire("key")));
    CHECK(process.ask("check", "trusted").size() == 2);
    CHECK(process.ask("release", "released").size() == 1);
    for (std::uint64_t i = 1; i != 10; ++i) {
      const auto next = locks.try_acquire("key");
      REQUIRE(next);
      CHECK(next.fencing_token() == mine.fence + i);
    }
  }

  mysql_fixture tables{};
  user who{};
  raw_mysql locker{tables.url()};
  tcp_proxy proxy{tables.port()};
  taker process;
  taker::grant before{};
  waiting first{};
};

}  // namespace

TEST_CASE("connection: killed while its acquire waits for a row, the acquire is sent again and leaves no ghost",
          "[T29]") {
  blocked_acquire acquire;
  acquire.who.root().run("KILL " + acquire.first.connection);
  acquire.who.blocked(acquire.first);  // the cancel of the first attempt, or the second
  CHECK_FALSE(acquire.process.said("held"));
  acquire.let_go();
  acquire.must_end_well();
}

TEST_CASE("connection: an acquire whose statement is killed while it waits for a row is sent again") {
  blocked_acquire acquire;
  acquire.who.root().run("KILL QUERY " + acquire.first.connection);
  acquire.who.blocked(acquire.first);
  acquire.let_go();
  acquire.must_end_well();
}

TEST_CASE("connection: a grant whose answer was lost is undone before the key is asked for again", "[T29]") {
  blocked_acquire acquire;
  acquire.proxy.cut();
  acquire.let_go();
  // The server has not noticed and runs the statement: a ghost, held by a session that lives.
  REQUIRE(eventually([&] { return acquire.row("session_id") != "NULL"; }));
  CHECK(acquire.row("HEX(session_id)") == upper(acquire.before.session));
  CHECK(acquire.row("fence") == std::to_string(acquire.before.fence + 1));
  CHECK_FALSE(acquire.process.said("held"));
  acquire.proxy.mend();
  acquire.must_end_well(1);
}

TEST_CASE("connection: an acquire whose answer was lost is seen dead at the server before the key is asked for again",
          "[T29]") {
  blocked_acquire acquire;
  acquire.proxy.cut();
  acquire.proxy.mend();
  acquire.who.gone(acquire.first);
  CHECK_FALSE(acquire.process.said("held"));
  acquire.let_go();
  acquire.must_end_well();
}

TEST_CASE("connection: what the server grants to a process that is dead can be taken after its session's expiry",
          "[T91]") {
  blocked_acquire acquire("5000");
  acquire.process.kill();
  const auto killed = boot_time();
  acquire.let_go();
  // The server has not noticed and runs the statement: a ghost.
  REQUIRE(eventually([&] { return acquire.row("session_id") != "NULL"; }));
  CHECK(acquire.row("fence") == std::to_string(acquire.before.fence + 1));

  taker next(acquire.tables.url());
  const auto mine = next.take(20s);
  CHECK(mine.fence == acquire.before.fence + 2);
  CHECK(mine.at <= killed + taker::ttl + taker::longest_pause + sluggish);
  CHECK(next.ask("check", "trusted").size() == 2);
}

TEST_CASE("connection: a lease outlives the death of all its process's connections, again and again", "[T13][T62]") {
  mysql_fixture tables;
  user who;
  taker process(who.url(tables.url()), {"--ttl", "5000"});
  const auto mine = process.take();
  const auto end = boot_time() + 8'000'000;
  std::size_t killed = 0;
  while (boot_time() < end) {
    killed += who.kill_all();
    std::this_thread::sleep_for(500ms);
  }
  CHECK(killed >= 5);  // it came back after each time that it needed one
  CHECK(process.ask("check", "trusted").size() == 2);
  CHECK_FALSE(process.said("told"));

  lock_service locks(tables.url());
  const auto now = locks.holder("key");
  REQUIRE(now);
  CHECK(now->fence == mine.fence);
  CHECK(now->session.hex() == mine.session);
  CHECK(process.ask("release", "released").size() == 1);
  CHECK_FALSE(locks.holder("key"));
}

}  // namespace dlock::test
