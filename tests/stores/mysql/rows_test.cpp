// SPDX-License-Identifier: BSL-1.0

/// Tables of the application's as the store finds them, and how it reaches their rows.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <odb/mysql/database.hxx>
#include <odb/mysql/exceptions.hxx>

#include "contract/backends/mysql/fixtures.hpp"
#include "odb/application.hpp"
#include "stores/mysql/dst_zone.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/sql.hpp"
#include "stores/mysql/on_connection.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/mysql_row_text.hpp"
#include "support/mysql_trigger.hpp"

namespace dlock::test {

using enum outcome;

namespace {

/// The application's database through ODB.
struct odb_connection {
  odb_connection() {
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

/// Of ODB's connections.
detail::odb_application odb_of(row_actor& actor) { return detail::odb_application(database_of(actor)); }

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
  const stores::mysql::lease_table::lease_sql tables{stores::sql::make_table_names(prefix, '`')};
  return {tables.names(), "locks"};
}

}  // namespace

TEST_CASE("mysql rows: every statement finds its rows by primary key, whatever the id is") {
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
    using stores::sql::row_statement;
    std::vector<std::string> texts{sql.about(q, row_statement::release).text, sql.about(q, row_statement::verify).text,
                                   sql.claim({*s.table, some, a.id, 1, {}}), sql.holder_of(*q.row)};
    for (const auto action : {verb::take, verb::take_over, verb::extend, verb::release, verb::cancel}) {
      q.action = action;
      texts.push_back(text_of(sql, q));
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

TEST_CASE("mysql rows: an integer is no id of a row whose key is a text") {
  row_scene s({.id = row_id_kind::text});
  row_actor a(s);
  auto described = *s.table;
  fault why;
  REQUIRE(odb_of(a).describe(*odb_connection().connection, described, why) == outcome::yes);
  const row_value number{std::int64_t{1}}, text{std::string("1")};
  CHECK_THAT(database_of(a).unfit_id(described, {&number, 1}), ContainsSubstring("`id` is a column of text"));
  CHECK(database_of(a).unfit_id(described, {&text, 1}).empty());
}

TEST_CASE("mysql rows: a statement about many rows finds each by its primary key, and reads no other row") {
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

TEST_CASE("mysql rows: a table is described as it is") {
  row_scene s({.id = row_id_kind::composite, .owner_not_null = true});
  row_actor a(s);
  odb_connection app;
  // As ODB names them.
  row_table t{.table = "`" + s.table->label + "`",
              .owner = "`" + s.table->label + "`.`lock_owner`",
              .expires_at = "`lock_expires_at_us`",
              .fence = "`lock_fence`",
              .version = "`version`"};
  fault why;
  const auto answer = odb_of(a).describe(*app.connection, t, why);
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
  REQUIRE(odb_of(a).describe(*app.connection, other, why) == outcome::yes);
  CHECK(other.table == s.table->table);
}

TEST_CASE("mysql rows: a table whose rows can't be locked is refused with what is missing") {
  row_scene s;
  row_scene shared({.renewal = row_renewal::column});
  row_actor a(s);
  odb_connection app;
  // What is said of the table after that ALTER TABLE; empty: it is taken. `back` undoes it.
  const auto said_of = [&](const row_scene& scene, const std::string& change, const std::string& back) {
    auto t = *scene.table;
    s.app->run("ALTER TABLE " + t.table + " " + change);
    fault why;
    const auto described = odb_of(a).describe(*app.connection, t, why);
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
  CHECK(odb_of(a).describe(*app.connection, missing, why) == outcome::failed);
  CHECK_THAT(why.text, ContainsSubstring("there is none"));
}

TEST_CASE_METHOD(one_row_actor, "mysql rows: an application's connection leads to this server or to another") {
  odb_connection app;
  fault why;
  CHECK(odb_of(a).shares(*app.connection, why) == outcome::yes);
  // In the middle of a transaction as well, which stays as it is.
  app.connection->execute("BEGIN");
  app.connection->execute("INSERT INTO " + s.table->table + " (id) VALUES (9)");
  CHECK(odb_of(a).shares(*app.connection, why) == outcome::yes);
  CHECK(s.app->one("SELECT COUNT(*) FROM " + s.table->table) == "0");
  app.connection->execute("ROLLBACK");
  raw_mysql::root().run(
      "KILL " + std::to_string(mysql_thread_id(static_cast<odb::mysql::connection&>(*app.connection).handle())));
  const auto answer = odb_of(a).shares(*app.connection, why);
  CHECK((answer == outcome::failed || answer == outcome::unknown));
  CHECK(why.connection);
}

TEST_CASE_METHOD(one_row_actor, "mysql rows: an error that ODB throws is classified as one of our own") {
  odb_connection app;
  const auto fault_of = [&](const std::string& sql) {
    try {
      app.connection->execute(sql);
    } catch (const odb::exception& e) {
      return odb_of(a).fault_of(e);
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
  const fault deadlock = odb_of(a).fault_of(odb::deadlock());
  CHECK(deadlock.native == 1213);
  CHECK(deadlock.transient);
  CHECK(odb_of(a).fault_of(odb::connection_lost()).connection);
  CHECK_FALSE(odb_of(a).fault_of(odb::unknown_schema("?")).text.empty());
}

TEST_CASE("mysql rows: a shared expiry means the same to sessions in any time zone") {
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

TEST_CASE("mysql rows: a shared expiry is never earlier than asked for, whoever compares it how") {
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

// Many rows of one table in one statement, where the server, a trigger or the network does not do its part. What holds
// on every database is in contract/row.

namespace {

constexpr std::size_t many = 6;

/// Six rows with the ids 0 to 5, and requests about them.
struct row_batch : row_scene {
  row_batch() {
    for (std::size_t i = 0; i != many; ++i) rows.push_back(make(static_cast<std::int64_t>(i)));
  }
  void trigger(const std::string& body) { make_trigger(table->table, "BEFORE UPDATE", body); }

  std::vector<request> takes() { return a.takes(rows); }
  std::vector<request> frees(std::vector<request> asked, verb action) {
    for (auto& each : asked) {
      each.action = action;
      each.fence = 1;
    }
    return asked;
  }

  row_actor a{*this};
  std::vector<lock_key> rows{};
};

}  // namespace

TEST_CASE_METHOD(row_batch,
                 "mysql row batch: what a trigger refuses for one row is done for the others, which are told apart") {
  trigger("IF NEW.id=3 AND NEW.lock_owner LIKE '%/%' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='no!'; END IF");
  const auto replies = a.run(takes());
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    CHECK(replies[i].result == (i == 3 ? failed : yes));
    CHECK(replies[i].fence == (i == 3 ? 0u : 1u));
  }
  CHECK_THAT(replies[3].why.text, ContainsSubstring("no!"));
  CHECK(number(table->fence, rows[3]) == 0);
  CHECK(number(table->fence, rows[4]) == 1);
  CHECK(a.connection->usable());
}

TEST_CASE_METHOD(row_batch,
                 "mysql row batch: a grant that a trigger has changed is in doubt, and the others have their fences") {
  trigger("IF NEW.id=3 THEN SET NEW.lock_owner='somebody'; END IF");
  const auto replies = a.run(takes());
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    CHECK(replies[i].result == (i == 3 ? unknown : yes));
    CHECK(replies[i].fence == (i == 3 ? 0u : 1u));
  }
  CHECK(statements(replies) == 2);
  CHECK_FALSE(a.connection->usable());
}

TEST_CASE_METHOD(row_batch, "mysql row batch: the fences behind a trigger are those in the rows") {
  set("lock_fence=40", rows[2]);
  audit watching(static_cast<mysql_row_fixture&>(*fixture).locks);
  watching.watch(table->table, "AFTER UPDATE");
  const auto replies = a.run(takes());
  for (std::size_t i = 0; i != many; ++i) CHECK(replies[i].fence == (i == 2 ? 41u : 1u));
  CHECK(watching.lines() == std::to_string(many));
}

TEST_CASE_METHOD(row_batch,
                 "mysql row batch: a renewal that must not wait passes over the row that another program has locked") {
  auto asked = takes();
  for (const auto& each : a.run(asked)) REQUIRE(answer(each) == yes);
  for (auto& each : asked) {
    each.action = verb::extend;
    each.fence = 1;
    each.ttl = 60s;
  }
  const auto expiring = a.run(asked);  // a session keeps them: there is no expiry to be moved
  for (const auto& each : expiring) CHECK(answer(each) == no);
  for (const auto& row : rows) set("lock_expires_at_us=9000000000000000", row);
  CHECK(statements(a.run(asked)) == 1);
  auto other = raw_mysql::root();
  other.run("BEGIN");
  other.run("SELECT * FROM " + table->table + " WHERE id=3 FOR UPDATE");
  const auto replies = without_waiting(*a.connection, [&] { return a.run(asked); });
  for (std::size_t i = 0; i != many; ++i) {
    INFO(i << ": " << replies[i].why.text);
    CHECK(replies[i].result == (i == 3 ? failed : yes));
    CHECK(replies[i].why.contended == (i == 3));
  }
  other.run("ROLLBACK");
  for (const auto& each : a.run(asked)) CHECK(answer(each) == yes);
}

TEST_CASE("mysql row batch: a text id that the column's characters can't write is no row, and spoils no other") {
  row_scene s({.id = row_id_kind::text});
  row_actor a(s);
  s.app->run("ALTER TABLE " + s.table->table + " MODIFY id VARCHAR(60) CHARACTER SET latin1 COLLATE latin1_swedish_ci");
  auto latin = *s.table;
  latin.id_text = {{"latin1", "latin1_swedish_ci"}};
  s.table = std::make_shared<const row_table>(latin);
  const std::vector<lock_key> rows = {s.make("gr\xc3\xbc\xc3\x9f"), s.key({std::string("\xe6\x97\xa5")}), s.make("?"),
                                      s.make("plain")};
  auto asked = a.takes(rows);
  auto replies = a.run(asked);
  for (std::size_t i = 0; i != rows.size(); ++i) {
    INFO(i);
    CHECK(answer(replies[i]) == (i == 1 ? no : yes));
  }
  // MariaDB refuses the statement for all of them then.
  for (auto& each : asked) each.action = verb::release;
  for (auto& each : asked) each.fence = 1;
  replies = a.run(asked);
  for (std::size_t i = 0; i != rows.size(); ++i) CHECK(answer(replies[i]) == (i == 1 ? no : yes));
}

TEST_CASE("mysql rows: a text id finds its row whatever the characters of the column are") {
  const std::string plain = "plain", umlaut = "gr\xc3\xbc\xc3\x9f", han = "\xe6\x97\xa5";
  const std::string charset = GENERATE("latin1", "utf8mb4", "ascii", "utf16", "binary");
  CAPTURE(charset);
  row_scene s({.id = row_id_kind::text});
  row_actor a(s);
  const bool bytes = charset == "binary";
  s.app->run("ALTER TABLE " + s.table->table + " MODIFY id " +
             (bytes ? "VARBINARY(60)" : "VARCHAR(60) CHARACTER SET " + charset));
  auto table = *s.table;
  fault why;
  REQUIRE(odb_of(a).describe(*odb_connection().connection, table, why) == outcome::yes);
  s.table = std::make_shared<const row_table>(table);
  for (const auto& id : {plain, umlaut, han}) {
    CAPTURE(id);
    const bool there = id == plain || (charset != "ascii" && (id == umlaut || charset != "latin1"));
    const auto row = there ? s.make(id) : s.key({id});
    const auto taken = a.take(row);
    CHECK(answer(taken) == (there ? yes : no));
    CHECK(answer(a.poll(row)) == (there ? yes : absent));
    if (there) CHECK(answer(a.release(row, taken.fence)) == yes);
  }
  // What would be written as a question mark is not the row with that name.
  const auto asked = s.make("?");
  CHECK(answer(a.poll(s.key({std::string("\xf0\x9f\x94\x92")}))) == absent);
  CHECK(answer(a.take(asked)) == yes);
}

TEST_CASE("mysql rows: a statement is prepared once for all rows of a table") {
  row_scene s(row_shape{});
  row_actor a(s);
  std::vector<lock_key> rows;
  for (int i = 0; i != 20; ++i) rows.push_back(s.make_numbered(i));
  auto root = raw_mysql::root();
  const auto prepared = [&] {
    return std::stoi(root.rows("SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'").at(0).at(1).value_or(""));
  };
  const int before = prepared();
  for (const auto& row : rows) {
    const auto fence = a.acquire(row);
    CHECK(answer(a.poll(row)) == yes);
    CHECK(answer(a.release(row, fence)) == yes);
  }
  CHECK(prepared() - before == 3);
}

TEST_CASE("mysql rows: where the server prepares nothing more, rows are locked by texts") {
  row_scene s({.id = row_id_kind::text});
  row_actor a(s), b(s);
  const auto row = s.make("a?'\\ :id1");
  const global_setting none_left("max_prepared_stmt_count", "0");
  const auto fence = a.acquire(row);
  CHECK(answer(b.take(row)) == no);
  CHECK(b.poll(row).holder.holder == a.id);
  CHECK(answer(a.release(row, fence)) == yes);
  CHECK(answer(b.take(row)) == yes);
  CHECK(answer(b.cancel(row)) == yes);
}

TEST_CASE_METHOD(row_batch, "mysql row batch: rows of two tables, and other ttls, are never one statement") {
  const auto other = fixture->make_table({});
  app->run("INSERT INTO " + other->table + " (id) VALUES (0)");
  const auto row = lock_key::of_row(other, {std::int64_t{0}});
  auto asked = takes();
  asked.push_back(a.about(verb::take, row));
  auto replies = a.run(asked);
  for (const auto& each : replies) CHECK(answer(each) == yes);
  CHECK(statements(replies) == many + 1);
  for (const auto& each : a.run(frees(asked, verb::release))) CHECK(answer(each) == yes);
  asked = takes();
  asked[2].kind = lease_kind::expiring;
  asked[2].ttl = for_long;
  replies = a.run(asked);
  for (const auto& each : replies) CHECK(answer(each) == yes);
  for (std::size_t i = 0; i != many; ++i) CHECK(value(table->expires_at, rows[i]).empty() == (i != 2));
}

// Statements about shared expiry columns that run in sessions of the application's, whose time zone has an hour in
// which each local time comes twice.

namespace {

constexpr row_shape shared{.renewal = row_renewal::column, .owner_not_null = true, .fence_is_version = true};

/// The application's session, at any time that a test chooses.
struct zone_scene : row_scene {
  zone_scene() : row_scene(shared) {}

  void at(const std::string& of_zone, std::int64_t second) {
    app->run("SET time_zone='" + of_zone + "'");
    app->run("SET timestamp=" + std::to_string(second));
  }
  /// When the row's lock ends, in seconds from the session's present.
  std::int64_t left(const lock_key& row) {
    return std::stoll(value("CAST(UNIX_TIMESTAMP(lock_expire_time) AS SIGNED)-UNIX_TIMESTAMP()", row));
  }
  std::uint64_t claim(row_actor& actor, const lock_key& row, microseconds ttl) {
    const auto* const id = row.row();
    return app->run(database_of(actor).claim({*table, {&id, 1}, actor.id, ++actor.nonce, ttl}));
  }
  bool free(row_actor& actor) {
    return !app->all("SELECT id FROM " + table->table + " WHERE " + database_of(actor).free_rows(*table)).empty();
  }
  static const stores::sql::application_database& database_of(const row_actor& actor) {
    return *stores::sql::application_database_of(*actor.store);
  }

  const dst_zone zone;
};

}  // namespace

TEST_CASE_METHOD(zone_scene, "mysql rows: a claim lasts as long as asked for at every time of every zone",
                 "[T26][T27]") {
  row_actor a(*this);
  const auto row = make(1);
  const auto zone_name = GENERATE(as<std::string>{}, dst_zone::name, "SYSTEM", "+05:30", "-11:00");
  const auto change = GENERATE(dst_zone::to_summer, dst_zone::to_winter);
  // Before the change, in the first and in the second pass of the hour, at its very ends, and after it.
  const auto offset = GENERATE(-7200, -3600, -1800, -5, -1, 0, 1, 1800, 3595, 3600, 7200);
  CAPTURE(zone_name, change, offset);
  at(zone_name, change + offset);
  REQUIRE(claim(a, row, 20s) == 1);
  CHECK(left(row) == 20);
  CHECK_FALSE(free(a));
  CHECK(claim(a, row, 20s) == 0);
  at(zone_name, change + offset + 20);
  CHECK_FALSE(free(a));  // passed is what now() is greater than
  at(zone_name, change + offset + 21);
  CHECK(free(a));
  CHECK(claim(a, row, 20s) == 1);
  CHECK(left(row) == 20);
  CHECK(app->run(a.release_text(row, 0)) == 1);
  CHECK(left(row) == 0);
  CHECK(free(a));
}

}  // namespace dlock::test
