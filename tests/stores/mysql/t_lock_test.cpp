// SPDX-License-Identifier: BSL-1.0

/// scheme=t_lock: what a program of the published protocol sees of dlock and dlock of it, step by step, and the faults
/// of that program, none of which dlock has. tests/process/t_lock has both as processes.

#include <fmt/format.h>

#include "contract/backends/mysql/schemes.hpp"
#include "contract/store/store_contract.hpp"
#include "dlock/distributed_mutex.hpp"
#include "dlock/lock_keys.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/owner.hpp"
#include "support/calls.hpp"
#include "support/mysql_trigger.hpp"

namespace dlock::test {

namespace {

/// The published program, one statement at a time. Its clock is the server's + `ahead`.
struct neighbour {
  explicit neighbour(const t_lock_fixture& fixture) : table(fixture.table()) {}

  std::int64_t now() {
    return std::stoll(client.one("SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) DIV 1000")) +
           ahead.count();
  }
  bool set(const std::string& key, int version, const std::string& id, int count, std::int64_t timeout) {
    return client.run(fmt::format("UPDATE {} SET request_id = '{}',lock_count = {},timeout = {},version = version + 1 "
                                  "WHERE lock_key = '{}' AND  version = {}",
                                  table, id, count, timeout, key, version)) == 1;
  }
  /// One round of its acquire: whether it has the key.
  bool lock(const std::string& key, std::int64_t lease = 10'000) {
    for (int rounds = 0; rounds < 5; ++rounds) {
      const auto rows = client.rows("select request_id, lock_count, timeout, version from " + table +
                                    " t WHERE t.lock_key='" + key + "'");
      if (rows.empty()) {
        client.run("insert into " + table + " (lock_key, request_id, lock_count, timeout, version) VALUES ('" + key +
                   "','',0,0,0)");
        continue;
      }
      const auto id = rows[0][0].value_or("");
      const int count = std::stoi(*rows[0][1]), version = std::stoi(*rows[0][3]);
      if (id.empty()) return set(key, version, me, 1, now() + lease);
      if (id == me) return set(key, version, me, count + 1, now() + lease);
      if (std::stoll(*rows[0][2]) >= now()) return false;
      set(key, version, "", 0, 0);
    }
    return false;
  }
  void unlock(const std::string& key) {
    const auto rows = client.rows("select request_id, lock_count, timeout, version from " + table +
                                  " t WHERE t.lock_key='" + key + "'");
    if (rows.empty() || rows[0][0] != me) return;
    const int count = std::stoi(*rows[0][1]), version = std::stoi(*rows[0][3]);
    if (count == 1) set(key, version, "", 0, 0);
    if (count > 1) set(key, version, me, count - 1, std::stoll(*rows[0][2]));
  }
  int version(const std::string& key) {
    return std::stoi(client.one("SELECT version FROM " + table + " WHERE lock_key='" + key + "'"));
  }
  std::string row(const std::string& key) {
    return client.one("SELECT CONCAT_WS('|', request_id, lock_count, timeout) FROM " + table + " WHERE lock_key='" +
                      key + "'");
  }

  const std::string table;
  raw_mysql client{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
  std::string me = "5f0c1f6e-7d4f-4c53-9a5e-1f1b6f0e8c11";
  std::chrono::milliseconds ahead{0};
};

struct t_lock_scene {
  t_lock_fixture fixture{};
  neighbour java{fixture};
  lock_service locks{fixture.url(), {.cleanup_interval = 0ms}};
  lock_service others{fixture.url(), {.cleanup_interval = 0ms}};
};

}  // namespace

TEST_CASE_METHOD(t_lock_scene, "t_lock: each of both refuses the other while it holds the key", "[T48]") {
  auto held = locks.acquire("k");
  CHECK_FALSE(java.lock("k"));
  java.unlock("k");
  CHECK_NOTHROW(held.ensure_held());
  held.release();
  CHECK(java.row("k") == "|0|0");
  CHECK(java.lock("k"));
  CHECK_FALSE(granted(locks.try_acquire("k")));
  CHECK(locks.holder("k")->label == java.me);
  CHECK(java.lock("k"));  // it enters again, and counts
  java.unlock("k");
  CHECK_FALSE(granted(locks.try_acquire("k")));
  java.unlock("k");
  CHECK(granted(locks.try_acquire("k")));
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: every statement that writes raises the version, which is what protects the others") {
  auto held = locks.acquire("k", {.ttl = 60s, .renewal = renewal::manual});
  const auto granted = java.version("k");
  CHECK(held.fencing_token() == static_cast<std::uint64_t>(granted));
  held.renew();
  CHECK(java.version("k") == granted + 1);
  held.renew(10ms);  // extends nothing
  CHECK(java.version("k") == granted + 2);
  CHECK(held.fencing_token() == static_cast<std::uint64_t>(granted));
  CHECK(others.holder("k")->fence == held.fencing_token());
  held.release();
  CHECK(java.version("k") == granted + 3);
  // What was read before is refused: the compare-and-set of a program that was held up.
  CHECK_FALSE(java.set("k", granted, java.me, 1, java.now() + 1'000));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a lease of another program is called over after the skew, and not before",
                 "[T23][T30]") {
  REQUIRE(java.lock("k"));
  const auto past = [&](int ms) {
    java.client.run(fmt::format("UPDATE {} SET timeout={}, version=version+1", java.table, java.now() - ms));
  };
  lock_service patient{fixture.url() + "&skew=20000", {.cleanup_interval = 0ms}};
  past(300);
  CHECK_FALSE(granted(patient.try_acquire("k")));
  CHECK(patient.holder("k"));
  past(20'100);
  CHECK_FALSE(patient.holder("k"));
  CHECK(granted(patient.try_acquire("k")));
  lock_service strict{fixture.url() + "&skew=0"};
  REQUIRE(java.lock("other"));
  java.client.run(fmt::format("UPDATE {} SET timeout={} WHERE lock_key='other'", java.table, java.now() - 5));
  CHECK(granted(strict.try_acquire("other")));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: an id of another program that only resembles ours gets the skew too",
                 "[T23][T30]") {
  const auto session = std::string(32, 'a'), attempt = std::string(16, 'b');
  lock_service patient{fixture.url() + "&skew=20000", {.cleanup_interval = 0ms}};
  const auto free_for = [&](const std::string& id) {
    java.client.run("DELETE FROM " + java.table);
    java.client.run(fmt::format("INSERT INTO {} VALUES ('k', '{}', 1, {}, 5)", java.table, id, java.now() - 300));
    const bool shown = patient.holder("k").has_value();
    CHECK(shown != granted(patient.try_acquire("k")));
    return !shown;
  };
  for (const auto& id :
       {std::string("web-1/5f0c1f6e-7d4f-4c53-9a5e-1f1b6f0e8c11"), session + "/" + attempt,
        session + "/" + attempt + "/", session + "/" + attempt + "/5x", session + "/" + attempt + "5/5",
        session + "-" + attempt + "/5", std::string(32, 'A') + "/" + attempt + "/5"}) {
    INFO(id);
    CHECK_FALSE(free_for(id));
  }
  CHECK(free_for(session + "/" + attempt + "/5"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: an id of any length is shown cut off, and is nobody else's") {
  java.client.run("ALTER TABLE " + java.table + " MODIFY request_id VARCHAR(2000) NOT NULL DEFAULT ''");
  const auto store = fixture.open();
  const auto on = connect(*store, 5s);
  for (const std::string& id : {std::string(1000, 'x'), std::string(32, 'a') + "/" + std::string(16, 'b') + "/5" +
                                                            std::string(100, ' ') + "x"}) {
    java.client.run("DELETE FROM " + java.table);
    java.client.run(fmt::format("INSERT INTO {} VALUES ('k', '{}', 1, {}, 5)", java.table, id, java.now() + 60'000));
    const request ask{.action = verb::poll, .resource = "k"};
    const reply response = executed(*store, *on, ask);
    CHECK(response.result == outcome::yes);
    CHECK(response.holder.who == id.substr(0, 100));
    CHECK(locks.holder("k")->label == id.substr(0, 100));
  }
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: what another program holds is not taken by force, and the error names it") {
  REQUIRE(java.lock("k"));
  const auto said = message_of([&] { return locks.force_release("k"); });
  CHECK_THAT(said, ContainsSubstring(java.me) && ContainsSubstring(java.table));
  CHECK_FALSE(granted(locks.try_acquire("k")));
  java.unlock("k");
  CHECK_FALSE(locks.force_release("k"));
  const auto held = locks.acquire("k");
  CHECK(others.force_release("k"));
  CHECK(granted(others.try_acquire("k")));
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: a program whose clock is ahead by less than the skew takes no lease of ours early", "[T23]") {
  const auto held = locks.acquire("k", {.ttl = 100ms, .renewal = renewal::none});
  java.ahead = 900ms;
  for (auto left = held.remaining(); left > 0us; left = held.remaining()) {
    const bool taken = java.lock("k");
    if (held.remaining() > 0us) CHECK_FALSE(taken);
  }
  java.ahead = 0ms;
  CHECK(eventually([&] { return java.lock("k"); }));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: ours end by the server's clock alone, without the skew among us") {
  const auto ended = locks.acquire("k", {.ttl = 10ms, .renewal = renewal::none});
  const auto begun = std::chrono::steady_clock::now();
  const auto next = others.acquire("k", {.wait = 20s});
  CHECK(next.fencing_token() > ended.fencing_token());
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  CHECK(thrown([&] { return ended.ensure_held(), 0; }) == errc::lost);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: many first users of a key get no error (fault 1)", "[T48]") {
  std::atomic<int> granted{0}, failed{0};
  on_threads(8, [&](int i) {
    try {
      const auto held = (i % 2 == 0 ? locks : others).acquire("new", {.wait = 60s});
      ++granted;
    } catch (const error&) {
      ++failed;
    }
  });
  CHECK(granted == 8);
  CHECK(failed == 0);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a shorter nested lease shortens nothing (fault 3)", "[T43]") {
  const auto outer = locks.acquire("k", {.ttl = 60s, .renewal = renewal::none});
  const auto inner = locks.acquire("k", {.ttl = 10ms, .renewal = renewal::none});
  CHECK(inner.reentered());
  CHECK(outer.remaining() > 30s);
  CHECK(others.holder("k")->remaining > 30s);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a lost lease is told, and enters and frees nothing any more (faults 4, 5, 7)",
                 "[T01][T06]") {
  auto lost = locks.acquire("k", {.ttl = 10ms, .renewal = renewal::none});
  CHECK(eventually([&] { return java.lock("k", 60'000); }));
  CHECK(thrown([&] { return lost.ensure_held(), 0; }) == errc::lost);
  CHECK(thrown([&] { return locks.try_acquire("k"); }) == errc::lost);  // not entered again
  CHECK(thrown([&] { return lost.release(), 0; }) == errc::lost);
  CHECK(java.row("k").starts_with(java.me + "|1|"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: what one task forgot lets no other task of its thread in (fault 6)", "[T40]") {
  auto forgotten = std::make_unique<lease>(locks.acquire("k"));
  CHECK_FALSE(granted(locks.try_acquire("k")));
  forgotten.reset();
  CHECK(granted(locks.try_acquire("k")));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a release frees the key although its row was changed meanwhile (fault 8)",
                 "[T06]") {
  for (int i = 0; i < 50; ++i) {
    auto held = locks.acquire("k");
    java.client.run("UPDATE " + java.table + " SET version=version+1");
    held.release();
    REQUIRE(java.row("k") == "|0|0");
  }
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: a late release frees no successor, not even after the row was made again (fault 9)",
                 "[T01][T50]") {
  auto late = locks.acquire("k");
  java.client.run("DELETE FROM " + java.table);
  const auto next = others.acquire("k");
  CHECK(next.fencing_token() == 1);  // documented: rows of this table must not be deleted
  CHECK(thrown([&] { return late.release(), 0; }) == errc::lost);
  CHECK(others.holder("k")->session == locks.holder("k")->session);
  CHECK_NOTHROW(next.ensure_held());
  CHECK_FALSE(java.lock("k"));
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: a lease time without end is read as one, and none of ours overflows (fault 10)") {
  java.client.run("INSERT INTO " + java.table + " VALUES ('k', '" + java.me + "', 1, 9223372036854775807, 5)");
  CHECK_FALSE(granted(locks.try_acquire("k")));
  CHECK(locks.holder("k")->remaining > 24h * 365);
  java.client.run("UPDATE " + java.table + " SET timeout=-9223372036854775800");  // as it is after an overflow
  CHECK(granted(locks.try_acquire("k")));
  CHECK_THROWS_AS(locks.try_acquire("k", {.ttl = 24h * 31, .renewal = renewal::none}), std::invalid_argument);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: behind an open transaction a wait ends when it should (fault 12)", "[T53]") {
  locks.acquire("k").release();
  java.client.run("BEGIN");
  java.client.run("UPDATE " + java.table + " SET lock_count=lock_count");
  java.client.run("SELECT * FROM " + java.table + " FOR UPDATE");
  const auto begun = std::chrono::steady_clock::now();
  CHECK_FALSE(granted(locks.try_acquire("k")));
  CHECK(thrown([&] { return locks.acquire("k", {.wait = 100ms}); }) == errc::timed_out);
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  java.client.run("ROLLBACK");
  CHECK(granted(locks.try_acquire("k")));
}

TEST_CASE_METHOD(t_lock_scene,
                 "t_lock: at the end of the version nobody is let in twice, and the error says why (fault 13)") {
  java.client.run("INSERT INTO " + java.table + " (lock_key, version) VALUES ('k', 2147483646)");
  auto last = locks.acquire("k");
  CHECK(last.fencing_token() == 2147483647);
  CHECK_FALSE(granted(others.try_acquire("k")));
  CHECK_THAT(message_of([&] { return last.release(), 0; }), ContainsSubstring("1264") || ContainsSubstring("version"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: a key that the column can't hold is refused before any statement (fault 14)",
                 "[T56]") {
  const auto invalid = [&](const std::string& key) { return refusal([&] { return locks.try_acquire(key); }); };
  CHECK_THAT(invalid(std::string(33, 'k')), ContainsSubstring("33 characters") && ContainsSubstring("room for 32"));
  CHECK(invalid(std::string(32, 'k')).empty());
  java.client.run("ALTER TABLE " + java.table + " CONVERT TO CHARACTER SET latin1");
  const auto store = fixture.open();
  CHECK_THAT(store->unfit_key("\xe4\xbd\xa0"), ContainsSubstring("latin1"));
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: an acquire is one statement, a release another, a held key none (fault 16)") {
  locks.acquire("k").release();
  const auto before = locks.statements();
  auto held = locks.acquire("k", {.renewal = renewal::none});
  CHECK(locks.statements() == before + 1);
  held.release();
  CHECK(locks.statements() == before + 2);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: what the table lacks is named") {
  const auto complaint = [&](const std::string& change) {
    const t_lock_fixture other;
    java.client.run("ALTER TABLE " + other.table() + " " + change);
    return message_of([&] { return open_store(other.url())->prepare(), 0; });
  };
  CHECK_THAT(complaint("DROP version"), ContainsSubstring("there is no column 'version'"));
  CHECK_THAT(complaint("MODIFY request_id varchar(36) NOT NULL DEFAULT ''"),
             ContainsSubstring("'request_id'") && ContainsSubstring("64 characters"));
  CHECK_THAT(complaint("MODIFY timeout varchar(30) NOT NULL DEFAULT ''"), ContainsSubstring("'timeout'"));
  CHECK(complaint("ADD note varchar(20) NOT NULL DEFAULT ''").empty());
  CHECK_THROWS_AS(open_store(fixture.url() + "&skew=-1"), std::invalid_argument);
  CHECK_THROWS_AS(open_store(fixture.url() + "&skew=3600001"), std::invalid_argument);
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: behind a trigger every grant has the token that is in its row") {
  audit log(java.table + "_audit");
  for (const char* moment : {"AFTER INSERT", "AFTER UPDATE"}) log.watch(java.table, moment);
  for (int round = 0; round != 3; ++round) {
    auto held = locks.acquire("k", {.ttl = 60s, .renewal = renewal::manual});
    CHECK(held.fencing_token() == static_cast<std::uint64_t>(java.version("k")));
    CHECK_NOTHROW(held.renew());
    CHECK_NOTHROW(held.release());
  }
  // A dead holder's key: taken over.
  auto dead = others.acquire("k", {.ttl = 60s, .renewal = renewal::manual});
  java.client.run(fmt::format("UPDATE {} SET timeout=1", java.table));
  auto held = locks.acquire("k");
  CHECK(held.fencing_token() > dead.fencing_token());
  CHECK(held.fencing_token() == static_cast<std::uint64_t>(java.version("k")));
  CHECK_NOTHROW(held.release());
  CHECK(log.lines() != "0");
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: behind a trigger a request's leases have tokens and can be extended") {
  audit log(java.table + "_audit");
  for (const char* moment : {"AFTER INSERT", "AFTER UPDATE"}) log.watch(java.table, moment);
  const owner_scope here{owner{"order-17"}};
  auto held = locks.acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  CHECK(held.fencing_token() == static_cast<std::uint64_t>(java.version("k")));
  held.renew(60s);
  CHECK(held.remaining() > 30s);
  CHECK_NOTHROW(held.release());
  CHECK(java.row("k") == "|0|0");
}

TEST_CASE_METHOD(t_lock_scene, "t_lock: beside an AUTO_INCREMENT column the tokens are the versions too") {
  java.client.run("ALTER TABLE " + java.table +
                  " DROP PRIMARY KEY, ADD UNIQUE KEY (lock_key), ADD id BIGINT AUTO_INCREMENT PRIMARY KEY FIRST, "
                  "AUTO_INCREMENT=57");
  lock_service service{fixture.url(), {.cleanup_interval = 0ms}};
  std::uint64_t last = 0;
  for (int round = 0; round != 3; ++round) {
    auto held = service.acquire("k", {.ttl = 60s, .renewal = renewal::manual});
    CHECK(held.fencing_token() == static_cast<std::uint64_t>(java.version("k")));
    CHECK(held.fencing_token() > last);
    last = held.fencing_token();
    CHECK_NOTHROW(held.renew());
    CHECK_NOTHROW(held.release());
  }
  const owner_scope here{owner{"order-18"}};
  const auto other = service.acquire("l", {.ttl = 60s, .renewal = renewal::manual});
  CHECK(other.fencing_token() == static_cast<std::uint64_t>(java.version("l")));
}

// scheme=t_lock: owners with a request id, whom several processes and programs of the published protocol may be.

namespace {

const lock_options for_a_minute{.ttl = 60s, .wait = 0s, .renewal = renewal::none};

/// A lease in the name of a request, as another task of it has one: not by re-entry in this thread's own name.
lease acquire_as(const std::string& request, lock_service& locks, lock_options options = for_a_minute) {
  const owner_scope here{owner{request}};
  return locks.acquire("k", std::move(options));
}

struct request_scene : t_lock_scene {
  request_scene() { java.me = "order-17:7f3a"; }

  /// lock_count of the key; 0: free.
  int count() {
    const auto row = java.row("k");
    const auto first = row.find('|');
    return first == 0 ? 0 : std::stoi(row.substr(first + 1));
  }
  lease acquire(lock_service& by) { return acquire_as(java.me, by); }
  bool is_free() { return granted(others.try_acquire("k")); }
};

}  // namespace

TEST_CASE_METHOD(request_scene,
                 "t_lock: a request enters again what another process of it holds, and its last release frees") {
  auto first = acquire(locks);
  CHECK(java.row("k").starts_with(java.me + "|1|"));
  auto second = acquire(others);
  CHECK(java.row("k").starts_with(java.me + "|2|"));
  CHECK(second.fencing_token() > first.fencing_token());
  CHECK(thrown([&] { return acquire_as("another", locks); }) == errc::timed_out);
  first.release();
  CHECK(count() == 1);
  CHECK_NOTHROW(second.ensure_held());
  CHECK(thrown([&] { return acquire_as("another", locks); }) == errc::timed_out);
  CHECK_FALSE(is_free());
  second.release();
  CHECK(java.row("k") == "|0|0");
  CHECK(is_free());
}

TEST_CASE_METHOD(request_scene,
                 "t_lock: a request enters again what a program of the published protocol holds, and the reverse",
                 "[T39]") {
  REQUIRE(java.lock("k", 60'000));
  std::vector<std::unique_ptr<lock_service>> processes;
  std::vector<lease> ours;
  for (int i = 0; i < 5; ++i) {
    processes.push_back(std::make_unique<lock_service>(fixture.url(), service_options{.cleanup_interval = 0ms}));
    ours.push_back(acquire(*processes.back()));
    REQUIRE(java.lock("k", 60'000));
  }
  CHECK(count() == 11);
  for (int i = 0; i < 6; ++i) java.unlock("k");
  for (int i = 0; i < 4; ++i) {
    ours.back().release();
    ours.pop_back();
  }
  // Ten times released, and held still.
  CHECK(count() == 1);
  CHECK_FALSE(is_free());
  ours.back().release();
  CHECK(is_free());
}

TEST_CASE_METHOD(request_scene, "t_lock: in one process a request is one owner, wherever it is made") {
  CHECK(owner{java.me} == owner{java.me});
  CHECK_FALSE(owner{java.me} == owner{"another"});
  const auto held = acquire(locks);
  const auto before = locks.statements();
  std::thread([&] {
    const auto nested = acquire_as(java.me, locks, {.ttl = 10s, .wait = 0s, .renewal = renewal::none});
    CHECK(nested.reentered());
    CHECK(nested.fencing_token() == held.fencing_token());
  }).join();
  CHECK(locks.statements() == before);
  CHECK(count() == 1);
}

TEST_CASE_METHOD(request_scene, "t_lock: a request's ids differ where the column takes them for equal") {
  const auto held = acquire_as("Request", locks);
  CHECK(thrown([&] { return acquire_as("request", others); }) == errc::timed_out);
  java.client.run("UPDATE " + java.table + " SET request_id='request ', version=version+1");
  CHECK(thrown([&] { return acquire_as("request", others); }) == errc::timed_out);
}

TEST_CASE_METHOD(request_scene,
                 "t_lock: entering for a shorter time shortens nothing, and for a longer one extends (fault 3)") {
  const auto outer = acquire(locks);
  const auto inner = acquire_as(java.me, others, {.ttl = 100ms, .wait = 10s, .renewal = renewal::none});
  CHECK(others.holder("k")->remaining > 30s);
  lock_service third{fixture.url(), {.cleanup_interval = 0ms}};
  const auto longest = acquire_as(java.me, third, {.ttl = 600s, .wait = 0s, .renewal = renewal::none});
  CHECK(others.holder("k")->remaining > 300s);
  CHECK(outer.remaining() < 61s);
}

TEST_CASE_METHOD(request_scene, "t_lock: a late release takes nothing from what the request holds since (faults 4, 6)",
                 "[T01]") {
  const auto url = fixture.url() + "&skew=0";
  lock_service late_process{url, {.cleanup_interval = 0ms}};
  lock_service next_process{url, {.cleanup_interval = 0ms}};
  auto late = acquire_as(java.me, late_process, {.ttl = 100ms, .wait = 10s, .renewal = renewal::none});
  const auto now = java.now();
  REQUIRE(eventually([&] { return java.now() > now + 200; }));
  auto next = acquire(next_process);
  const auto counted = count();  // 1 if the lost lease was freed in its last moment, else 2
  CHECK(counted >= 1);
  CHECK(thrown([&] { return late.release(), 0; }) == errc::lost);
  CHECK(count() == counted);
  CHECK_NOTHROW(next.ensure_held());
  next.release();
  CHECK(count() == counted - 1);
}

TEST_CASE_METHOD(request_scene,
                 "t_lock: a late unlock of another program of the request frees nothing of ours (fault 4)", "[T01]") {
  lock_service ours{fixture.url() + "&skew=0", {.cleanup_interval = 0ms}};
  REQUIRE(java.lock("k", 50));
  const auto now = java.now();
  REQUIRE(eventually([&] { return java.now() > now + 100; }));
  const auto inner = acquire(ours);
  java.unlock("k");
  CHECK(count() == 1);
  CHECK_FALSE(is_free());
  CHECK_NOTHROW(inner.ensure_held());
}

namespace {

/// Verbs one by one, as the engine sends them, in the name of the request.
struct request_verbs : request_scene {
  std::shared_ptr<store> on = fixture.open();
  fault why{};
  std::unique_ptr<connection> link = on->connect(20s, why);

  reply ask(connection& by, verb action, const id128& session, microseconds ttl = 0us) {
    const request asked{.action = action,
                        .resource = "k",
                        .session = session,
                        .nonce = 1,
                        .kind = lease_kind::expiring,
                        .ttl = ttl,
                        .request_id = java.me,
                        .if_locked = row_wait::accept};
    reply answer;
    on->execute(by, {&asked, 1}, {&answer, 1});
    return answer;
  }
  outcome ask(verb action, const id128& session, microseconds ttl = 0us) {
    return ask(*link, action, session, ttl).result;
  }
  const id128 one = id128::random(), two = id128::random(), nobody = id128::random();
};

}  // namespace

TEST_CASE_METHOD(request_verbs,
                 "t_lock: a release that comes after its own time is none, although the request holds the key") {
  REQUIRE(ask(verb::insert, one, 20ms) == outcome::yes);
  REQUIRE(ask(verb::take, two, 60s) == outcome::yes);
  CHECK(count() == 2);
  const auto now = java.now();
  REQUIRE(eventually([&] { return java.now() > now + 20; }));
  CHECK(ask(verb::extend, one, 60s) == outcome::no);
  CHECK(ask(verb::release, one) == outcome::no);
  CHECK(count() == 2);  // until the longest time is over
  CHECK(ask(verb::extend, two, 120s) == outcome::yes);
  CHECK(ask(verb::release, two) == outcome::yes);
  CHECK(ask(verb::release, two) == outcome::no);
  CHECK(ask(verb::release, nobody) == outcome::no);
  CHECK(ask(verb::cancel, nobody) == outcome::no);
  CHECK(count() == 1);
}

TEST_CASE_METHOD(request_verbs, "t_lock: a release of a request that was not answered is not sent again") {
  REQUIRE(ask(verb::insert, one, 60s) == outcome::yes);
  REQUIRE(java.lock("k", 60'000));
  java.client.run("BEGIN");
  java.client.run("UPDATE " + java.table + " SET lock_count=lock_count");
  std::jthread cut([&] {
    raw_mysql see{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
    const auto sent = fmt::format(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id={} AND command<>'Sleep'", link->identity().id);
    static_cast<void>(eventually([&] { return see.one(sent) == "1"; }));
    link->interrupt();
  });
  CHECK(ask(verb::release, one) == outcome::unknown);
  cut.join();
  // It may still be done. What a second one did could not be told from that.
  const auto other = on->connect(20s, why);
  const auto again = ask(*other, verb::release, one, 0us);
  CHECK(again.result == outcome::failed);
  CHECK(again.statements == 0);
  java.client.run("ROLLBACK");
  CHECK(count() >= 1);
}

TEST_CASE_METHOD(request_scene, "t_lock: who releases in the name of a request is told that nobody answered") {
  auto held = acquire(locks);
  REQUIRE(java.lock("k", 60'000));
  java.client.run("BEGIN");
  java.client.run("UPDATE " + java.table + " SET lock_count=lock_count");
  std::jthread cut([&] {
    raw_mysql see{mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL")};
    const auto waits = "SELECT id FROM information_schema.processlist WHERE info LIKE 'UPDATE%" + java.table +
                       "%lock_count > 1%' AND id<>CONNECTION_ID()";
    std::string id;
    static_cast<void>(eventually([&] {
      const auto rows = see.rows(waits);
      return !rows.empty() && !(id = rows[0][0].value_or("")).empty();
    }));
    if (!id.empty()) see.run("KILL " + id);
  });
  CHECK(thrown([&] { return held.release(), 0; }) == errc::outcome_unknown);
  cut.join();
  java.client.run("ROLLBACK");
  CHECK(count() >= 1);
}

TEST_CASE_METHOD(request_verbs, "t_lock: a release of a request that has certainly not been done is sent again") {
  REQUIRE(ask(verb::insert, one, 60s) == outcome::yes);
  java.client.run("UPDATE " + java.table + " SET version=2147483647");
  CHECK(ask(verb::release, one) == outcome::failed);
  java.client.run("UPDATE " + java.table + " SET version=7");
  CHECK(ask(verb::release, one) == outcome::yes);
  CHECK(count() == 0);
}

TEST_CASE_METHOD(request_scene, "t_lock: a lease of a request can be extended by hand") {
  auto held = acquire_as(java.me, locks, {.ttl = 20s, .wait = 0s, .renewal = renewal::manual});
  const auto version = java.version("k");
  held.renew(60s);
  CHECK(java.version("k") == version + 1);
  CHECK(held.remaining() > 30s);
  CHECK(others.holder("k")->remaining > 30s);
  held.release();
  CHECK(is_free());
}

TEST_CASE_METHOD(request_scene, "t_lock: a request locks several keys, and waits for a key like others") {
  auto foreign = locks.acquire("b");
  const owner_scope here{owner{java.me}};
  const lock_options patient{.ttl = 60s, .wait = 20s, .renewal = renewal::none};
  const auto before = others.statements();
  std::jthread release([&] {
    // When the other one has been told that it is busy.
    static_cast<void>(eventually([&] { return others.statements() > before + 4; }));
    foreign.release();
  });
  auto all = others.acquire_all({"a", "b"}, patient);
  release.join();
  CHECK(java.row("a").starts_with(java.me + "|1|"));
  CHECK(java.row("b").starts_with(java.me + "|1|"));
  all.release();
  CHECK(java.row("a") == "|0|0");
  CHECK(java.row("b") == "|0|0");
}

TEST_CASE_METHOD(request_scene, "t_lock: what a request holds is not taken by force, and the error names it") {
  const auto held = acquire(locks);
  CHECK_THAT(message_of([&] { return locks.force_release("k"); }), ContainsSubstring(java.me));
  held.ensure_held();
}

TEST_CASE_METHOD(request_scene, "t_lock: what does not go with a request id is refused at the call") {
  const auto refused = [&](const lock_options& options) {
    const owner_scope here{owner{java.me}};
    return refusal([&] { return locks.try_acquire("k", options); });
  };
  CHECK_THAT(refused({}), ContainsSubstring(java.me) && ContainsSubstring("renewal = automatic"));
  CHECK_THAT(refused({.renewal = renewal::none, .reentry = reentry::refuse}), ContainsSubstring("reentry"));
  CHECK_THAT(refused({.renewal = renewal::none, .reentry = reentry::busy}), ContainsSubstring("reentry"));
  {
    const owner_scope here{owner{java.me}};
    distributed_mutex mutex{locks, "k", {.renewal = renewal::none}};
    CHECK_THROWS_AS(mutex.lock(), std::invalid_argument);
  }
  CHECK(refused({.renewal = renewal::none}).empty());
  CHECK(refused({.renewal = renewal::manual}).empty());
}

}  // namespace dlock::test
