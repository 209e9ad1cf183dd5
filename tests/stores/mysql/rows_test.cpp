// SPDX-License-Identifier: BSL-1.0

/// Tables of the application's as the store finds them, and how it reaches their rows.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <catch2/matchers/catch_matchers_string.hpp>
#include <odb/mysql/database.hxx>
#include <odb/mysql/exceptions.hxx>
#include <optional>
#include <vector>

#include "contract/backends/mysql/fixtures.hpp"
#include "floor_entity-odb-mysql.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "session_entity-odb-mysql.hxx"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/sql.hpp"
#include "stores/sql/application_database.hpp"

namespace dlock::test {

namespace {

using Catch::Matchers::ContainsSubstring;

/// The application's database through ODB.
struct odb_application {
  odb_application() {
    const auto url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_APP_URL"));
    database = std::make_unique<odb::mysql::database>(url.user, url.password, url.path, url.hosts.at(0).host,
                                                      url.hosts.at(0).port);
    connection = database->connection();
  }
  std::unique_ptr<odb::mysql::database> database;
  odb::connection_ptr connection;
};

stores::sql::application_database& database_of(row_actor& actor) {
  return *stores::sql::application_database_of(*actor.store);
}

/// A line of what the server says of its way to execute a statement.
struct plan_line {
  std::string table{}, access{}, key{};
  std::optional<std::size_t> examined{};
};
std::vector<plan_line> plan_of(row_scene& s, const std::string& sql) {
  auto& raw = static_cast<mysql_application&>(*s.app).raw;
  // MySQL has a column more: the partitions.
  const std::size_t more = raw.is_mariadb() ? 0 : 1;
  std::vector<plan_line> plan;
  for (const auto& line : raw.rows("EXPLAIN FORMAT=TRADITIONAL " + sql)) {
    plan.push_back({.table = line.at(2).value_or(""),
                    .access = line.at(3 + more).value_or(""),
                    .key = line.at(5 + more).value_or("")});
    if (const auto& examined = line.at(8 + more)) plan.back().examined = std::stoul(*examined);
  }
  return plan;
}

stores::mysql::lease_table::mysql_row_sql sql_of(row_scene& s) {
  const auto& prefix = static_cast<mysql_row_fixture&>(*s.fixture).locks.prefix();
  const stores::mysql::lease_table::lease_sql tables{stores::sql::make_table_names<odb::id_mysql>(prefix, '`')};
  return {tables.names(), "locks"};
}

}  // namespace

TEST_CASE("mysql rows: every statement finds its rows by primary key, whatever the id is", "[mysql][rows]") {
  for (const auto kind : {row_id_kind::integer, row_id_kind::text, row_id_kind::composite}) {
    row_scene s({.id = kind});
    row_actor a(s);
    std::vector<lock_key> rows;
    for (int i = 0; i != 200; ++i) rows.push_back(s.make_numbered(i));
    s.app->run("ANALYZE TABLE " + s.table->table);
    const auto sql = sql_of(s);
    a.acquire(rows[20]);  // a poll at a free row need not read the sessions
    auto q = a.about(verb::take, rows[20]);
    const seen dead{.holder = a.id, .fence = 1, .kind = lease_kind::session, .gone = true};
    q.expected = &dead;
    const std::vector<const row_id*> some = {rows[3].row(), rows[20].row(), rows[150].row()};
    const auto utc = stores::mysql::lease_table::session_zone::utc;
    std::vector<std::string> texts{sql.release(q, utc).text, sql.verify(q).text,
                                   sql.claim({*s.table, some, a.id, 1, {}}, utc), sql.poll(q)};
    for (const auto action : {verb::take, verb::take_over, verb::extend, verb::release, verb::cancel}) {
      q.action = action;
      texts.push_back(sql.change(q));
    }
    for (const auto& text : texts) {
      INFO(text);
      for (const auto& line : plan_of(s, text)) {
        if (!line.access.empty()) CHECK(line.key == "PRIMARY");
        CHECK(line.examined.value_or(1) <= 3);
      }
    }
  }
}

TEST_CASE("mysql rows: an integer is no id of a row whose key is a text", "[mysql][rows]") {
  row_scene s({.id = row_id_kind::text});
  row_actor a(s);
  auto described = *s.table;
  fault why;
  REQUIRE(database_of(a).describe(*odb_application().connection, described, why) == outcome::yes);
  const row_value number{std::int64_t{1}}, text{std::string("1")};
  CHECK_THAT(database_of(a).unfit_id(described, {&number, 1}), ContainsSubstring("`id` is a column of text"));
  CHECK(database_of(a).unfit_id(described, {&text, 1}).empty());
}

TEST_CASE("mysql rows: a statement about many rows finds each by its primary key, and reads no other row",
          "[mysql][rows]") {
  for (const auto kind : {row_id_kind::integer, row_id_kind::text, row_id_kind::composite}) {
    row_scene s({.id = kind});
    row_actor a(s);
    constexpr int most = 64;
    std::vector<lock_key> rows;
    for (int i = 0; i != 2 * most; ++i) rows.push_back(s.make_numbered(i));
    s.app->run("CREATE INDEX by_owner ON " + s.table->table + " (lock_owner)");
    s.app->run("ANALYZE TABLE " + s.table->table);
    const auto sql = sql_of(s);
    std::vector<request> asked;
    for (int i = 0; i != most; ++i) asked.push_back(a.about(verb::take, rows[static_cast<std::size_t>(2 * i)]));
    const auto check = [&](const std::string& text) {
      INFO(text);
      for (const auto& line : plan_of(s, text)) {
        if (line.table.starts_with("<derived")) continue;
        CHECK((line.access == "range" || line.access == "eq_ref"));
        CHECK(line.key == "PRIMARY");
        CHECK(line.examined.value_or(999) <= most);
      }
    };
    for (const auto action : {verb::take, verb::release, verb::cancel}) {
      for (auto& each : asked) each.action = action;
      check(sql.change_all(asked, false));
      check(sql.change_all(asked, true));
    }
    check(sql.read_all(asked));
  }
}

TEST_CASE("mysql rows: a table is described as it is", "[mysql][rows]") {
  row_scene s({.id = row_id_kind::composite, .owner_not_null = true});
  row_actor a(s);
  odb_application app;
  // As ODB names them.
  row_table t{.table = "`" + s.table->label + "`",
              .owner = "`" + s.table->label + "`.`lock_owner`",
              .expires_at = "`lock_expires_at_us`",
              .fence = "`lock_fence`",
              .version = "`version`"};
  fault why;
  const auto answer = database_of(a).describe(*app.connection, t, why);
  INFO(why.text);
  REQUIRE(answer == outcome::yes);
  CHECK(t.table == s.table->table);
  CHECK(t.label == s.table->label);
  CHECK(t.id == std::vector<std::string>{"`region`", "`name`"});
  CHECK(t.owner == "`lock_owner`");
  CHECK(t.owner_not_null);
  // With a database, without quotation marks.
  row_table other = t;
  other.table = "app." + s.table->label;
  REQUIRE(database_of(a).describe(*app.connection, other, why) == outcome::yes);
  CHECK(other.table == s.table->table);
}

TEST_CASE("mysql rows: a table whose rows can't be locked is refused with what is missing", "[mysql][rows]") {
  row_scene s;
  row_scene shared({.renewal = row_renewal::column});
  row_actor a(s);
  odb_application app;
  // What is said of the table after that ALTER TABLE; empty: it is taken. `back` undoes it.
  const auto said_of = [&](const row_scene& scene, const std::string& change, const std::string& back) {
    auto t = *scene.table;
    s.app->run("ALTER TABLE " + t.table + " " + change);
    fault why;
    const auto described = database_of(a).describe(*app.connection, t, why);
    if (!back.empty()) s.app->run("ALTER TABLE " + t.table + " " + back);
    if (described == outcome::yes) return std::string();
    CHECK(described == outcome::failed);
    CHECK_THAT(why.text, ContainsSubstring(t.table));
    return why.text;
  };
  CHECK(said_of(s, "MODIFY lock_owner VARBINARY(50) NULL", "MODIFY lock_owner VARCHAR(50) NULL").empty());
  struct {
    const row_scene& of;
    const char *change, *back, *missing;
  } const cases[]{
      {s, "CHANGE lock_owner other VARCHAR(50) NULL", "CHANGE other lock_owner VARCHAR(50) NULL", "lock_owner"},
      {s, "MODIFY lock_owner VARCHAR(49) NULL", "MODIFY lock_owner VARCHAR(50) NULL", "50 characters"},
      {s, "MODIFY lock_owner BINARY(60) NULL", "MODIFY lock_owner VARCHAR(50) NULL", "is binary(60)"},
      {s, "MODIFY lock_fence VARCHAR(20) NOT NULL", "MODIFY lock_fence BIGINT UNSIGNED NOT NULL", "integer"},
      {s, "MODIFY version INT NULL", "MODIFY version INT NOT NULL", "NOT NULL"},
      {s, "MODIFY lock_expires_at_us BIGINT NOT NULL", "MODIFY lock_expires_at_us BIGINT NULL", "BIGINT NULL"},
      {s, "ENGINE=MyISAM", "ENGINE=InnoDB", "InnoDB"},
      {s, "DROP PRIMARY KEY", "", "primary key"},
      // Its hours would depend on the session's time zone.
      {shared, "MODIFY lock_expire_time DATETIME NOT NULL", "", "TIMESTAMP"},
      {shared, "MODIFY lock_expire_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP", "",
       "ON UPDATE"},
  };
  for (const auto& each : cases) {
    INFO(each.change);
    CHECK_THAT(said_of(each.of, each.change, each.back), ContainsSubstring(each.missing));
  }
  row_table missing = *s.table;
  missing.table = "`app`.`there is none`";
  fault why;
  CHECK(database_of(a).describe(*app.connection, missing, why) == outcome::failed);
  CHECK_THAT(why.text, ContainsSubstring("there is none"));
}

TEST_CASE("mysql rows: an application's connection leads to this server or to another", "[mysql][rows]") {
  row_scene s;
  row_actor a(s);
  odb_application app;
  fault why;
  CHECK(database_of(a).shares(*app.connection, why) == outcome::yes);
  // In the middle of a transaction as well, which stays as it is.
  app.connection->execute("BEGIN");
  app.connection->execute("INSERT INTO " + s.table->table + " (id) VALUES (9)");
  CHECK(database_of(a).shares(*app.connection, why) == outcome::yes);
  CHECK(s.app->one("SELECT COUNT(*) FROM " + s.table->table) == "0");
  app.connection->execute("ROLLBACK");
  raw_mysql::root().run(
      "KILL " + std::to_string(mysql_thread_id(static_cast<odb::mysql::connection&>(*app.connection).handle())));
  const auto answer = database_of(a).shares(*app.connection, why);
  CHECK((answer == outcome::failed || answer == outcome::unknown));
  CHECK(why.connection);
}

TEST_CASE("mysql rows: an error that ODB throws is classified as one of our own", "[mysql][rows]") {
  row_scene s;
  row_actor a(s);
  odb_application app;
  const auto fault_of = [&](const std::string& sql) {
    try {
      app.connection->execute(sql);
    } catch (const odb::exception& e) {
      return database_of(a).fault_of(e);
    }
    FAIL("no error");
    return fault{};
  };
  CHECK(fault_of("SELECT * FROM there_is_none").native == 1146);
  CHECK(std::string(fault_of("SELECT nonsense FROM").sqlstate) == "42000");
  s.make(1);
  s.app->begin();
  s.set("payload=1", s.key({std::int64_t{1}}));
  app.connection->execute("SET SESSION innodb_lock_wait_timeout=1");
  const fault busy = fault_of("UPDATE " + s.table->table + " SET payload=2");
  s.app->rollback();
  CHECK(busy.native == 1205);
  CHECK(busy.contended);
  const fault deadlock = database_of(a).fault_of(odb::deadlock());
  CHECK(deadlock.native == 1213);
  CHECK(deadlock.transient);
  CHECK(database_of(a).fault_of(odb::connection_lost()).connection);
  CHECK_FALSE(database_of(a).fault_of(std::runtime_error("?")).text.empty());
}

TEST_CASE("mysql rows: a shared expiry means the same to sessions in any time zone", "[mysql][rows]") {
  row_scene s({.renewal = row_renewal::column, .owner_not_null = true, .fence_is_version = true});
  row_actor a(s);
  const auto row = s.make(1);
  const auto app_url = mysql_setting("DLOCK_TEST_MYSQL_APP_URL");
  mysql_application east(app_url, "+13:00"), west(app_url, "-11:00"), home(app_url, "SYSTEM");
  const auto plain = [&](int seconds) { return s.fixture->plain_take(*s.table, s.where(row), "java", seconds); };
  for (auto* app : {&east, &west, &home}) {
    const auto fence = a.acquire(row, 10s);
    CHECK(app->run(plain(60)) == 0);
    CHECK(answer(a.release(row, fence)) == outcome::yes);
    REQUIRE(app->run(plain(60)) == 1);
    CHECK(answer(a.take(row, 10s)) == outcome::no);
    CHECK(a.at(row).remaining > 55s);
    CHECK(a.at(row).remaining < 65s);
    // A claim runs in the application's own session.
    const auto& sql = database_of(a);
    CHECK(app->all("SELECT id FROM " + s.table->table + " WHERE " + sql.free_rows(*s.table)).empty());
    app->run("UPDATE " + s.table->table + " SET lock_expire_time=date_add(now(), interval -3 second)");
    const auto* const id = row.row();
    ++a.nonce;
    CHECK(app->run(sql.claim({*s.table, {&id, 1}, a.id, a.nonce, 60s})) == 1);
    CHECK(a.at(row).remaining > 50s);
    CHECK(a.at(row).remaining < 63s);
    CHECK(app->run(a.release_text(row, 0)) == 1);
    CHECK(app->run(plain(60)) == 1);
    app->run("UPDATE " + s.table->table + " SET lock_owner=''");
  }
}

TEST_CASE("mysql rows: a shared expiry is never earlier than asked for, whoever compares it how", "[mysql][rows]") {
  row_scene s({.renewal = row_renewal::column});
  row_actor a(s);
  const auto row = s.make(1);
  const auto& sql = database_of(a);
  const auto* const id = row.row();
  const auto check = [&](const char* property, auto&& change) {
    INFO(property);
    const auto before = s.app->one("SELECT now(6)").value_or("");
    change();
    CHECK(s.value("lock_expire_time >= date_add('" + before + "', interval 10100000 microsecond)", row) == "1");
    CHECK(s.value("lock_expire_time < date_add(now(6), interval 11100000 microsecond)", row) == "1");
  };
  std::uint64_t fence = 0;
  check("take", [&] { fence = a.acquire(row, 10'100ms); });
  check("extend", [&] { CHECK(answer(a.extend(row, fence, 10'100ms)) == outcome::yes); });
  CHECK(answer(a.release(row, fence)) == outcome::yes);
  check("claim", [&] { CHECK(s.app->run(sql.claim({*s.table, {&id, 1}, a.id, ++a.nonce, 10'100ms})) == 1); });
}

}  // namespace dlock::test
