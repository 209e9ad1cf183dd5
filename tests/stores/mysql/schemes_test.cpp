// SPDX-License-Identifier: BSL-1.0

/// scheme=unique_insert and state_row: tables as teams have them, beside programs that run the plain statements.

#include <fmt/format.h>

#include "contract/backends/mysql/schemes.hpp"
#include "contract/store/store_contract.hpp"
#include "dlock/lock_service.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/dst_zone.hpp"
#include "stores/mysql/on_connection.hpp"
#include "stores/mysql/shared_table/row_schemes.hpp"
#include "stores/mysql/shared_table/store.hpp"
#include "support/calls.hpp"

namespace dlock::test {

namespace {

const std::string article_003 = "&key=lock_name&owner=lock_info&expiry=expiration_time&state=lock_state";

/// A scheme, and what its columns are called in the tables of these tests.
struct scheme {
  const char* name;
  const char* columns;
  const char* key;
  const char* owner;
  const char* expiry;
  const char* take;  ///< what else an INSERT ... SET of a held row says
  const char* held;  ///< a condition on rows
};
constexpr scheme unique_insert{.name = "unique_insert",
                               .columns = unique_insert_fixture::columns,
                               .key = "resource",
                               .owner = "lock_owner",
                               .expiry = "lock_expire_time",
                               .take = "",
                               .held = "TRUE"};
constexpr scheme state_row{.name = "state_row",
                           .columns = state_row_fixture::columns,
                           .key = "lock_name",
                           .owner = "lock_info",
                           .expiry = "expiration_time",
                           .take = ", lock_state=1",
                           .held = "lock_state<>0"};
constexpr scheme shedlock{.name = "shedlock",
                          .columns = shedlock_fixture::columns,
                          .key = "name",
                          .owner = "locked_by",
                          .expiry = "lock_until",
                          .take = "",
                          .held = "lock_until > UTC_TIMESTAMP(3)"};
/// So that a failure names it.
std::ostream& operator<<(std::ostream& out, const scheme& one) { return out << one.name; }

/// A table of a team's, and a program of theirs.
struct team {
  explicit team(const scheme& of) : kind(of) { plain.run("CREATE TABLE " + table + " " + kind.columns); }
  ~team() { raw_mysql(owner).run("DROP TABLE " + table); }

  std::string url(const std::string& more = {}) const { return url(kind, more); }
  std::string url(const scheme& other, const std::string& more = {}) const {
    return owner + "?scheme=" + other.name + "&table=" + table + more;
  }
  /// Whether the team's statement changed a row.
  bool run(const std::string& sql) {
    try {
      return plain.run(written(sql)) > 0;
    } catch (const std::runtime_error& e) {
      if (std::string(e.what()).find("Duplicate") == std::string::npos) throw;
      return false;
    }
  }
  std::string one(const std::string& sql) { return plain.one(written(sql)); }
  /// {t} is the table, the other names are those in `scheme`.
  std::string written(const std::string& sql) const {
    return fmt::format(fmt::runtime(sql), fmt::arg("t", table), fmt::arg("key", kind.key),
                       fmt::arg("owner", kind.owner), fmt::arg("expiry", kind.expiry), fmt::arg("take", kind.take),
                       fmt::arg("held", kind.held));
  }

  const scheme kind;
  const std::string owner = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string table = "team_" + id128::random().hex();
  raw_mysql plain{owner};
};

// The published statements.
constexpr const char* article_insert =
    "INSERT INTO {t} (resource, lock_owner, lock_expire_time) VALUES ('k', 'java-1', date_add(now(), interval 30 "
    "second))";
constexpr const char* article_take =
    "UPDATE {t} SET lock_owner='java-1', lock_expire_time=date_add(now(), interval 30 second) WHERE resource='k' AND "
    "(lock_owner = '' OR lock_owner = 'java-1' OR lock_expire_time < now())";
constexpr const char* article_delete = "DELETE FROM {t} WHERE resource='k' AND lock_owner='java-1'";
constexpr const char* article_state =
    "UPDATE {t} SET lock_state=1, lock_info='clientA_thread1_1', expiration_time=(now()+interval 1 minute) WHERE "
    "lock_name='k' AND lock_state=0";
constexpr const char* article_free = "UPDATE {t} SET lock_state=0 WHERE lock_name='k' AND lock_state=1";

// What ShedLock 7 sends with usingDbTime(), for a lock of 30 s at most.
constexpr const char* shedlock_insert =
    "INSERT IGNORE INTO {t}(name, lock_until, locked_at, locked_by) VALUES('k', TIMESTAMPADD(MICROSECOND, 30000000, "
    "UTC_TIMESTAMP(3)), UTC_TIMESTAMP(3), 'host-1')";
constexpr const char* shedlock_update =
    "UPDATE {t} SET lock_until = TIMESTAMPADD(MICROSECOND, 30000000, UTC_TIMESTAMP(3)), locked_at = UTC_TIMESTAMP(3), "
    "locked_by = 'host-1' WHERE name = 'k' AND lock_until <= UTC_TIMESTAMP(3)";
constexpr const char* shedlock_extend =
    "UPDATE {t} SET lock_until = TIMESTAMPADD(MICROSECOND, 30000000, UTC_TIMESTAMP(3)) WHERE name = 'k' AND locked_by "
    "= 'host-1' AND lock_until > UTC_TIMESTAMP(3)";
/// It holds for so many microseconds at least.
std::string shedlock_unlock(const std::string& at_least) {
  const auto end = "TIMESTAMPADD(MICROSECOND, " + at_least + ", locked_at)";
  return "UPDATE {t} SET lock_until = IF (" + end + " > UTC_TIMESTAMP(3) , " + end +
         ", UTC_TIMESTAMP(3)) WHERE name = 'k' AND locked_by = 'host-1'";
}

/// What prepare() says; empty: nothing.
std::string complaint(const std::string& url) {
  return message_of([&] { return open_store(url)->prepare(), 0; });
}

bool try_key(lock_service& locks, const std::string& key = "k") { return granted(locks.try_acquire(key)); }

}  // namespace

TEST_CASE("mysql schemes: a scheme that does not exist is refused with its name and those that do") {
  const auto owner = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  CHECK_THROWS_MATCHES(open_store(owner + "?scheme=zookeeper"), std::invalid_argument,
                       Catch::Matchers::Message(
                           "dlock: mysql URL: scheme=zookeeper is not one of lease_table, unique_insert, state_row, "
                           "shedlock, t_lock, named_lock, for_update"));
  CHECK_NOTHROW(open_store(owner + "?scheme=lease_table&prefix=x_"));
  CHECK_THROWS_AS(open_store(owner + "?scheme=unique_insert&prefix=x_"), std::invalid_argument);
  CHECK_THROWS_AS(open_store(owner + "?scheme=state_row&schema=create"), std::invalid_argument);
  CHECK_THROWS_AS(open_store(owner + "?scheme=state_row&key="), std::invalid_argument);
  CHECK_THROWS_AS(open_store(owner + "?scheme=unique_insert&table=" + std::string(65, 't')), std::invalid_argument);
}

TEST_CASE("mysql schemes: unique_insert and a program with the published statements exclude each other", "[T48]") {
  team other(unique_insert);
  lock_service locks(other.url());
  auto held = locks.acquire("k");
  CHECK_FALSE(other.run(article_insert));
  CHECK_FALSE(other.run(article_take));
  CHECK_FALSE(other.run(article_delete));
  held.release();
  CHECK(other.one("SELECT COUNT(*) FROM {t}") == "0");
  CHECK(other.run(article_insert));
  CHECK_FALSE(try_key(locks));
  CHECK_FALSE(locks.holder("k")->session);
  CHECK(locks.holder("k")->label == "java-1");
  CHECK_THAT(message_of([&] { return locks.force_release("k"); }), ContainsSubstring("java-1"));
  CHECK(other.run(article_delete));
  CHECK(try_key(locks));
}

TEST_CASE("mysql schemes: unique_insert takes over what a dead program left, and is taken over by the living",
          "[T30][T91]") {
  team other(unique_insert);
  lock_service locks(other.url());
  REQUIRE(other.run(article_insert));
  CHECK_FALSE(try_key(locks));
  other.run("UPDATE {t} SET lock_expire_time=now() - interval 2 second");
  auto held = locks.acquire("k", {.ttl = 1s, .renewal = renewal::none});
  CHECK(eventually([&] { return held.remaining() == 0us; }));
  // Ours may have been freed meanwhile, a margin after it was lost.
  CHECK(eventually([&] { return other.run(article_take) || other.run(article_insert); }));
  CHECK(thrown([&] { return held.release(), 0; }) == errc::lost);
  CHECK(other.one("SELECT lock_owner FROM {t}") == "java-1");
}

TEST_CASE("mysql schemes: unique_insert uses a row whose owner is empty, as the published programs do") {
  team other(unique_insert);
  lock_service locks(other.url());
  other.run("INSERT INTO {t} (resource, lock_owner, lock_expire_time) VALUES ('k', '', now() + interval 1 hour)");
  CHECK(try_key(locks));
}

TEST_CASE("mysql schemes: unique_insert works on a table with a state that nobody reads") {
  team other(state_row);
  lock_service locks(other.url(unique_insert, article_003));
  const auto held = locks.acquire("k");
  CHECK(other.one("SELECT lock_state FROM {t}") == "1");
  CHECK_FALSE(other.run("INSERT INTO {t} (lock_name, lock_state, lock_info) VALUES ('k', 1, '')"));
  CHECK(other.run("INSERT INTO {t} (lock_name, lock_state, lock_info) VALUES ('theirs', 1, 'x')"));
  CHECK_FALSE(try_key(locks, "theirs"));  // without an expiry: for ever
}

TEST_CASE("mysql schemes: state_row and a program with the published statements exclude each other", "[T48]") {
  team other(state_row);
  lock_service locks(other.url());
  other.run("INSERT INTO {t} (lock_name, lock_state, lock_info) VALUES ('k', 0, '')");
  const auto id = other.one("SELECT id FROM {t}");
  auto held = locks.acquire("k");
  CHECK_FALSE(other.run(article_state));
  held.release();
  CHECK(other.one("SELECT CONCAT(id, lock_state, lock_info, expiration_time IS NULL) FROM {t}") == id + "01");
  CHECK(other.run(article_state));
  CHECK_FALSE(try_key(locks));
  CHECK(locks.holder("k")->label == "clientA_thread1_1");
  CHECK(other.run(article_free));
  CHECK(try_key(locks));
}

TEST_CASE("mysql schemes: state_row never takes over what has no expiry", "[T30]") {
  team other(state_row);
  lock_service locks(other.url());
  // The published plain form: nothing but the state.
  other.run("INSERT INTO {t} (lock_name, lock_state, lock_info) VALUES ('k', 1, '')");
  CHECK_FALSE(try_key(locks));
  CHECK(locks.holder("k"));
  const auto store = open_store(other.url());
  store->prepare();
  const auto connection = connect(*store, 5s);
  CHECK(store->admin()->cleanup(*connection, 1us, 10).fence == 0);
  CHECK(other.one("SELECT lock_state FROM {t}") == "1");
  // Ended, and taken by such a program: an expiry of ours must not end its lock.
  other.run("UPDATE {t} SET lock_state=0");
  { const auto brief = locks.acquire("k", {.ttl = 10ms, .renewal = renewal::none}); }
  other.run("UPDATE {t} SET lock_state=1");
  CHECK_FALSE(try_key(locks));
}

TEST_CASE("mysql schemes: shedlock and a program with ShedLock's statements exclude each other", "[T30][T48]") {
  team other(shedlock);
  lock_service locks(other.url());
  auto held = locks.acquire("k", {.ttl = 60s});
  CHECK_FALSE(other.run(shedlock_insert));
  CHECK_FALSE(other.run(shedlock_update));
  CHECK_FALSE(other.run(shedlock_extend));
  CHECK_FALSE(other.run(shedlock_unlock("0")));
  CHECK(locks.holder("k")->remaining > 55s);
  held.release();
  CHECK_FALSE(locks.holder("k"));
  CHECK(other.one("SELECT locked_by FROM {t}").empty());

  CHECK(other.run(shedlock_update));
  CHECK_FALSE(try_key(locks));
  CHECK(locks.holder("k")->label == "host-1");
  CHECK_THROWS_AS(locks.force_release("k"), store_error);
  // A lock that ShedLock keeps for a while after its end (lockAtLeastFor).
  CHECK(other.run(shedlock_unlock("600000000")));
  CHECK_FALSE(try_key(locks));
  CHECK(locks.holder("k")->remaining > 9min);
  CHECK(other.run(shedlock_unlock("0")));
  CHECK_FALSE(locks.holder("k"));
  const auto again = locks.acquire("k");
  // What is left of a dead program.
  other.run("DELETE FROM {t}");
  CHECK(other.run(shedlock_insert));
  other.run("UPDATE {t} SET lock_until=UTC_TIMESTAMP(3)");
  CHECK(try_key(locks));
}

TEST_CASE("mysql schemes: shedlock takes no lock before its end and gives none away, whatever unit a column keeps",
          "[T25][T28]") {
  const std::string type = GENERATE("timestamp(3)", "timestamp", "datetime(6)");
  CAPTURE(type);
  team other(shedlock);
  other.run("ALTER TABLE {t} MODIFY lock_until " + type + " NOT NULL DEFAULT CURRENT_TIMESTAMP" +
            (type == "timestamp" ? "" : type.substr(type.find('('))));
  lock_service locks(other.url());
  // Where a column keeps less, ShedLock's own end is rounded, too. The moment before the lease began, in full:
  const auto before = other.one("SELECT UTC_TIMESTAMP(6)");
  auto held = locks.acquire("k", {.ttl = 1'401ms, .renewal = renewal::manual});
  const auto left = [&](const std::string& from) {
    return std::stoll(other.one("SELECT TIMESTAMPDIFF(MICROSECOND, '" + from + "', lock_until) FROM {t}"));
  };
  CHECK(left(before) >= 1'401'000);
  const auto before_extension = other.one("SELECT UTC_TIMESTAMP(6)");
  held.renew(2'401ms);
  CHECK(left(before_extension) >= 2'401'000);
  held.release();
  // ShedLock looks by milliseconds.
  CHECK(eventually([&] { return other.run(shedlock_update); }));
  other.run("UPDATE {t} SET lock_until=UTC_TIMESTAMP(6) + INTERVAL 1 SECOND");
  const auto end = std::stoll(other.one("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', lock_until) FROM {t}"));
  while (!try_key(locks)) {
  }
  CHECK(std::stoll(other.one("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))")) >= end);
}

TEST_CASE("mysql schemes: shedlock counts in UTC, whatever time zone the server has", "[T26]") {
  team other(shedlock);
  const std::string type = GENERATE("timestamp(3)", "datetime(3)");
  other.run("ALTER TABLE {t} MODIFY lock_until " + type + " NOT NULL DEFAULT CURRENT_TIMESTAMP(3)");
  auto root = raw_mysql::root();
  const auto before = root.one("SELECT @@GLOBAL.time_zone");
  const std::string zone = GENERATE("+05:30", "-11:00");
  root.run("SET GLOBAL time_zone='" + zone + "'");
  {
    raw_mysql theirs(other.owner);  // a session as the server makes it
    const auto run = [&](const std::string& sql) { return theirs.run(other.written(sql)) > 0; };
    lock_service locks(other.url());
    CHECK(run(shedlock_insert));
    CHECK_FALSE(try_key(locks));
    CHECK(locks.holder("k")->remaining < 31s);
    CHECK(run(shedlock_unlock("0")));
    const auto held = locks.acquire("k", {.ttl = 30s});
    CHECK_FALSE(run(shedlock_update));
    run("UPDATE {t} SET lock_until=UTC_TIMESTAMP(3)");
    lock_service next(other.url());
    CHECK(try_key(next));
    CHECK(run(shedlock_update));
  }
  root.run("SET GLOBAL time_zone='" + before + "'");
}

TEST_CASE("mysql schemes: the job frees what has expired, at most so many rows, and nothing that is held or locked",
          "[T54][T58]") {
  const auto kind = GENERATE(unique_insert, state_row);
  team other(kind);
  lock_service locks(other.url(), {.cleanup_interval = 0ms});
  const auto held = locks.acquire("held");
  for (const char* key : {"a", "b", "c", "d"}) {
    other.run("INSERT INTO {t} SET {key}='" + std::string(key) +
              "', {owner}='x', {expiry}=now() - interval 5 second{take}");
  }
  const std::string count = "SELECT COUNT(*) FROM {t} WHERE {held}";
  const auto store = open_store(other.url());
  store->prepare();
  const auto connection = connect(*store, 5s);
  const auto sweep = [&](microseconds idle, std::size_t limit) {
    const auto answer = store->admin()->cleanup(*connection, idle, limit);
    CHECK(answer.result == outcome::yes);
    return answer.fence;
  };
  CHECK(sweep(0us, 10) == 0);
  CHECK(sweep(1us, 2) == 2);
  CHECK(other.one(count) == "3");
  raw_mysql busy(other.owner);
  busy.run("BEGIN");
  busy.run(other.written("SELECT * FROM {t} WHERE {key}='c' FOR UPDATE"));
  CHECK(without_waiting(*connection, [&] { return sweep(1us, 10); }) == 1);
  busy.run("ROLLBACK");
  CHECK(sweep(1us, 10) == 1);
  CHECK(other.one(count) == "1");
  lock_service foreign(other.url());
  CHECK_FALSE(try_key(foreign, "held"));
  CHECK(try_key(foreign, "a"));
}

TEST_CASE("mysql schemes: the job frees no row that was renewed or taken after the job read it", "[T12][T58]") {
  const auto kind = GENERATE(unique_insert, state_row);
  team other(kind);
  lock_service locks(other.url(), {.cleanup_interval = 0ms});
  lock_service foreign(other.url(), {.cleanup_interval = 0ms});
  const auto held = locks.acquire("k", {.ttl = 60s});
  // What the job sends about a row that had expired when it read the table.
  const auto free_expired = [&] {
    using namespace stores::mysql;
    const auto url = store_url::parse(other.url());
    const auto made = std::string_view(kind.name) == "state_row"
                          ? shared_table::state_row(url, stores::state_row_options{})
                          : shared_table::unique_insert(url, stores::unique_insert_options{});
    mysql_client client(made.settings);
    fault why;
    const auto connection = client.open<mysql_connection>(5s, {}, why);
    REQUIRE(connection);
    return made.make_sql(shared_table::layout::read(*connection, made.settings)).free_expired;
  }();
  const auto id = other.one("SELECT id FROM {t}");
  CHECK_FALSE(other.run(free_expired + id));
  CHECK_FALSE(try_key(foreign));
  other.run("UPDATE {t} SET {expiry}=now() - interval 2 second");
  CHECK(other.run(free_expired + id));
}

TEST_CASE("mysql schemes: an expiry is never earlier than the lease's end, whatever unit the column keeps",
          "[T25][T28]") {
  const auto kind = GENERATE(unique_insert, state_row);
  const std::string type = GENERATE("timestamp", "datetime", "datetime(1)", "timestamp(6)");
  CAPTURE(kind, type);
  team other(kind);
  other.run("ALTER TABLE {t} MODIFY {expiry} " + type + " NULL");
  lock_service locks(other.url(), {.cleanup_interval = 0ms});
  // What is taken for expired is an expiry less than NOW() in the column's own unit.
  const auto digits = other.one(
      "SELECT DATETIME_PRECISION FROM information_schema.COLUMNS WHERE TABLE_NAME='{t}' AND COLUMN_NAME='{expiry}'");
  const auto now = "NOW(" + digits + ")";
  const auto microseconds_left = [&](const std::string& from) {
    return std::stoll(other.one("SELECT TIMESTAMPDIFF(MICROSECOND, '" + from + "', {expiry}) FROM {t}"));
  };
  const auto before_renewal = other.one("SELECT " + now);
  auto held = locks.acquire("k", {.ttl = 1'401ms, .renewal = renewal::manual});
  CHECK(microseconds_left(before_renewal) >= 1'401'000);
  const auto before_extension = other.one("SELECT " + now);
  held.renew(2'401ms);
  CHECK(microseconds_left(before_extension) >= 2'401'000);
  held.release();
}

TEST_CASE("mysql schemes: a renewal that must not wait says at once that another program has the row locked", "[T51]") {
  const auto kind = GENERATE(unique_insert, state_row, shedlock);
  CAPTURE(kind);
  team other(kind);
  const auto store = open_store(other.url());
  store->prepare();
  const auto connection = connect(*store, 5s);
  const auto session = id128::random();
  const auto ask = [&](const std::string& key, verb action) {
    const request asked{.action = action,
                        .resource = key,
                        .session = session,
                        .nonce = 7,
                        .fence = 7,
                        .kind = lease_kind::column,
                        .ttl = 60s,
                        .if_locked = row_wait::never};
    const reply response = executed(*store, *connection, asked);
    INFO(response.why.text);
    CHECK((response.result != outcome::failed || response.why.contended));
    return response.result;
  };
  for (const auto* key : {"c", "d"}) REQUIRE(ask(key, verb::insert) == outcome::yes);
  raw_mysql busy(other.owner);
  busy.run("BEGIN");
  busy.run(other.written("SELECT * FROM {t} WHERE {key}='c' FOR UPDATE"));
  CHECK(without_waiting(*connection, [&] { return ask("c", verb::extend); }) == outcome::failed);
  CHECK(without_waiting(*connection, [&] { return ask("d", verb::extend); }) == outcome::yes);
  busy.run("ROLLBACK");
  CHECK(ask("c", verb::extend) == outcome::yes);
}

TEST_CASE("mysql schemes: a statement waits for no row but its own, whatever the column's character set",
          "[T51][T54]") {
  const auto kind = GENERATE(unique_insert, state_row);
  const std::string charset = GENERATE("latin1", "utf8mb3", "utf8mb4", "ascii");
  CAPTURE(kind, charset);
  team other(kind);
  other.run("ALTER TABLE {t} CONVERT TO CHARACTER SET " + charset);
  lock_service locks(other.url(), {.cleanup_interval = 0ms});
  const auto theirs = locks.acquire("theirs");
  raw_mysql busy(other.owner);
  busy.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  busy.run("BEGIN");
  busy.run(other.written("UPDATE {t} SET {owner}='x' WHERE id=") + other.one("SELECT id FROM {t}"));
  const auto three_times = [&] {
    for (int i = 0; i < 3; ++i) {
      CHECK(try_key(locks, "mine"));
      CHECK_FALSE(locks.holder("mine"));
    }
  };
  CHECK(undisturbed(900ms, three_times, 6) < 900ms);  // innodb_lock_wait_timeout
  busy.run("ROLLBACK");
}

TEST_CASE("mysql schemes: what a table lacks is named when the store is prepared") {
  const auto changed = [](const scheme& kind, const std::string& change, const std::string& more = {}) {
    team other(kind);
    if (!change.empty()) other.run("ALTER TABLE {t} " + change);
    return complaint(other.url(more));
  };
  for (const auto& kind : {unique_insert, state_row}) {
    CHECK(changed(kind, "").empty());
    for (const char* type : {"timestamp", "datetime"}) {
      CHECK_THAT(changed(kind, std::string("MODIFY {expiry} ") + type +
                                   " NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"),
                 ContainsSubstring(fmt::format("column '{}' (expiry=) is ON UPDATE CURRENT_TIMESTAMP", kind.expiry)));
    }
    CHECK_THAT(changed(kind, "MODIFY {key} binary(40) NOT NULL"),
               ContainsSubstring(fmt::format("column '{}' (key=) is BINARY(40)", kind.key)));
    CHECK(changed(kind, "MODIFY {key} varbinary(40) NOT NULL").empty());
  }
  CHECK_THAT(changed(unique_insert, "DROP lock_owner"),
             ContainsSubstring("scheme unique_insert: table `team_") &&
                 ContainsSubstring("there is no column 'lock_owner' (owner=)"));
  CHECK_THAT(changed(unique_insert, "MODIFY lock_owner varchar(36) NOT NULL"),
             ContainsSubstring("'lock_owner'") && ContainsSubstring("49"));
  CHECK_THAT(changed(unique_insert, "DROP lock_expire_time"), ContainsSubstring("(expiry=)"));
  CHECK_THAT(changed(unique_insert, "MODIFY lock_expire_time bigint NOT NULL"),
             ContainsSubstring("neither TIMESTAMP nor DATETIME"));
  CHECK_THAT(changed(unique_insert, "DROP KEY unique_resource"), ContainsSubstring("no unique index to itself"));
  CHECK_THAT(changed(unique_insert, "DROP KEY unique_resource, ADD UNIQUE KEY unique_resource (resource(10))"),
             ContainsSubstring("no unique index to itself"));
  CHECK_THAT(changed(unique_insert, "ENGINE=MyISAM"), ContainsSubstring("MyISAM"));
  CHECK_THAT(changed(state_row, "MODIFY lock_state varchar(5) NOT NULL"),
             ContainsSubstring("'lock_state' (state=) is no integer"));
  CHECK_THAT(changed(unique_insert, "", "&key=lock_name"), ContainsSubstring("'lock_name' (key=)"));
  CHECK_THAT(complaint(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL") + "?scheme=state_row&table=nobodys"),
             ContainsSubstring("table `nobodys`: there is no such table"));
}

TEST_CASE("mysql schemes: a key that does not fit into the column is refused, others are taken as the column has them",
          "[T56]") {
  team other(unique_insert);
  other.run("ALTER TABLE {t} MODIFY resource varchar(8) CHARACTER SET latin1 NOT NULL");
  lock_service locks(other.url());
  const auto sent = locks.statements();
  const auto why = [&](const std::string& key) { return refusal([&] { return locks.try_acquire(key); }); };
  CHECK_THAT(why("123456789"), ContainsSubstring("9 characters") && ContainsSubstring("room for 8"));
  CHECK_THAT(why("\xe4\xbd\xa0"), ContainsSubstring("latin1"));
  CHECK_THAT(why("\xff"), ContainsSubstring("UTF-8"));
  CHECK_THAT(why(std::string("a\0b", 3)), ContainsSubstring("zero byte"));
  // Written to the column they would be question marks, and "??" is somebody's key.
  CHECK_THROWS_AS(locks.holder("\xe4\xbd\xa0\xe4\xbd\xa0"), std::invalid_argument);
  CHECK_THROWS_AS(locks.force_release("\xe4\xbd\xa0\xe4\xbd\xa0"), std::invalid_argument);
  CHECK(locks.statements() == sent);
  const auto held = locks.acquire("Case");
  lock_service foreign(other.url());
  CHECK_FALSE(try_key(foreign, "case"));
  CHECK(try_key(foreign, "12345678"));
}

TEST_CASE("mysql schemes: a DATETIME counts in the zone of the other programs, which is the server's", "[T26]") {
  team other(state_row);
  auto root = raw_mysql::root();
  const auto before = root.one("SELECT @@GLOBAL.time_zone");
  const std::string zone = GENERATE("+05:30", "-11:00");
  root.run("SET GLOBAL time_zone='" + zone + "'");
  {
    raw_mysql theirs(other.owner);  // a session as the server makes it
    const auto run = [&](const char* sql) { return theirs.run(other.written(sql)) > 0; };
    lock_service locks(other.url());
    run("INSERT INTO {t} (lock_name, lock_state, lock_info) VALUES ('k', 0, '')");
    CHECK(run(article_state));
    CHECK_FALSE(try_key(locks));
    CHECK(locks.holder("k")->remaining < 2min);
    CHECK(run(article_free));
    const auto held = locks.acquire("k");
    CHECK_FALSE(run("UPDATE {t} SET lock_state=1 WHERE lock_name='k' AND (lock_state=0 OR expiration_time < now())"));
    run("UPDATE {t} SET expiration_time=now() - interval 2 second");
    lock_service next(other.url());
    CHECK(try_key(next));
  }
  root.run("SET GLOBAL time_zone='" + before + "'");
}

TEST_CASE("mysql schemes: a lease never ends early where summer time begins or ends", "[T27]") {
  const dst_zone zone;
  const auto type =
      GENERATE(stores::mysql::shared_table::column_type::timestamp, stores::mysql::shared_table::column_type::datetime);
  const auto change = GENERATE(dst_zone::to_summer, dst_zone::to_winter);
  // Taken so long before or after the change, for 30 s. Looked at until it has passed.
  const auto taken = change + GENERATE(-3605, -3600, -3590, -40, -20, -10, -1, 0, 1, 1800, 3570, 3590, 3600);
  CAPTURE(change, taken - change);
  const stores::mysql::shared_table::column expiry{.name = "expiration_time", .type = type};
  stores::sql::dictionary words({stores::mysql::shared_table::clock_of(expiry)});
  stores::mysql::shared_table::set_expiry(words, expiry);
  team other(state_row);
  auto& client = other.plain;
  // A TIMESTAMP is used in UTC, where there is no such time.
  const bool wall = type == stores::mysql::shared_table::column_type::datetime;
  client.run(std::string("SET time_zone='") + (wall ? dst_zone::name : "+00:00") + "'");
  if (!wall) other.run("ALTER TABLE {t} MODIFY expiration_time TIMESTAMP NULL");
  other.run("INSERT INTO {t} (lock_name, lock_state, lock_info) VALUES ('k', 1, '')");
  client.run("SET timestamp=" + std::to_string(taken));
  auto until = words.fill("{until}");
  for (auto at = until.find(":ttl"); at != std::string::npos; at = until.find(":ttl")) {
    until.replace(at, 4, std::to_string(stores::mysql::shared_table::rounded_up(30s, expiry.unit()).count()));
  }
  other.run("UPDATE {t} SET expiration_time=" + until);
  for (const int later : {0, 1, 10, 20, 29}) {
    client.run("SET timestamp=" + std::to_string(taken + later));
    CAPTURE(later);
    CHECK(other.one(words.fill("SELECT {passed} FROM ") + " {t}") == "0");
    CHECK(std::stoll(other.one(words.fill("SELECT {remaining} FROM ") + " {t}")) > 0);
  }
  client.run("SET timestamp=" + std::to_string(taken + 3600 + 32));  // in autumn an hour late
  CHECK(other.one(words.fill("SELECT {passed} FROM ") + " {t}") == "1");
}

}  // namespace dlock::test
