// SPDX-License-Identifier: BSL-1.0

// Rule 14: reports what can't work at the start, with an explanation.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "dlock/detail/sha256.hpp"
#include "dlock/error.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/store.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

constexpr std::string_view schema_file =
#include "schema-mysql.sql.inc"
    ;
constexpr std::string_view done_file =
#include "done-mysql.sql.inc"
    ;
constexpr std::string_view member_file =
#include "member-mysql.sql.inc"
    ;

parked::waiter_sql with_room(parked::waiter_sql of, const sql::shared_keys& shared) {
  of.room = waiters_for_members::room_sql(shared.names());
  return of;
}

}  // namespace

lease_tables::lease_tables(lease_settings from)
    : settings(std::move(from)),
      sql(sql::make_table_names(settings.prefix, '`')),
      row_sql(sql.names(), settings.database,
              [this] { return client.is_mariadb() ? session_zone::any_mariadb : session_zone::any_mysql; }),
      marks(sql.names(), settings.database, settings.schema == sql::schema_mode::create),
      shared(sql.names(),
             {.same_fence = "LAST_INSERT_ID(l.{lock.fence})",
              .lock_row = "FOR UPDATE",
              .share_row = "LOCK IN SHARE MODE",
              // Shared, so that readers of one process, who have one row, verify at the same time.
              .verify = "SELECT 1 FROM {member} WHERE {mine} {only_primary}",
              .nobody_waits = "NOT EXISTS (SELECT 1 FROM {waiter} w WHERE w.{waiter.lock_key} = :key"
                              " AND w.{waiter.wake_id} <> :wake_id AND {sleeper} IS NOT NULL)",
              // A row for the bell says that the key may be closed. The row of the key itself would say it for certain,
              // but a DELETE locks the rows that its sub-queries read, and joins lock that one.
              .finds_waiter = "(SELECT LAST_INSERT_ID(COALESCE((SELECT {sleeper} FROM {waiter} w"
                              " WHERE w.{waiter.lock_key} = :key AND w.{waiter.wake_id} <> :wake_id"
                              " AND {sleeper} IS NOT NULL"
                              " AND NOT EXISTS (SELECT 1 FROM {waiter} b WHERE b.{waiter.lock_key} = :bell)"
                              " ORDER BY w.{waiter.lock_key}, w.{waiter.since_us}, w.{waiter.wake_id}"
                              " LIMIT 1), 0))) IS NOT NULL"},
             member_file, settings.schema == sql::schema_mode::create, sql::quoted_name(settings.database, '`') + "."),
      member_waiters(shared.names()),
      client(settings),
      waiters(client, with_room(sql.waiters(), shared), [this](const std::string& why) {
        if (settings.wake) listeners.waiters_poll(why);  // without `wake` waiters are meant to poll
      }) {}

bool lease_tables::shares() const noexcept try { return !is_cluster(client.server()); } catch (const std::exception&) {
  return true;  // memory ran out; then the first statement refuses
}

mysql_marks::mysql_marks(const sql::table_names& names, const std::string& database, bool creates)
    : done_marks(names,
                 {.wall = server_clock,
                  .only_primary = "AND CONCAT(@@global.read_only) IN ('0', 'OFF')",
                  .lock_row = "FOR UPDATE",
                  .share_row = "LOCK IN SHARE MODE",
                  .insert = "INSERT IGNORE INTO",
                  .nowhere = "FROM DUAL"},
                 done_file, creates, sql::quoted_name(database, '`') + ".") {}

std::string mysql_marks::literal(const sql::sql_value& value) const { return literal_of(value); }

std::string no_tables_id(const std::string& floor_table) {
  return fmt::format(
      "table {} has no row with id {}, which says what these lock tables are called in rows: open the store with "
      "schema=create to repair it",
      floor_table, sql::tables_id::floor_row);
}

reply lease_tables::read_id(lease_connection& with) {
  if (row_sql.tables().known()) return {.result = outcome::yes};
  mysql_rows rows;
  auto answer = with.read(row_sql.read_tables_id(), "reading the id of the lock tables", &rows);
  if (answer.result == outcome::unknown) answer.result = outcome::failed;  // it only reads
  if (answer.result != outcome::yes) return answer;
  if (rows.empty()) return {.why = make_own_fault(no_tables_id(sql.names().table("floor")))};
  row_sql.tables(sql::tables_id(unsigned_of(rows.at(0).at(0))));
  return answer;
}

namespace {

bool denied(const fault& why) { return why.native == 1142 || why.native == 1143 || why.native == 1044; }

[[noreturn]] void fail_schema(const std::string& store, fault why) {
  if (denied(why)) {
    why.text +=
        ": making or changing the tables needs CREATE, ALTER, INDEX, REFERENCES and DROP; a user who only locks "
        "finds them made by another";
  }
  fail(store, why);
}

/// The checks of the server that prepare() makes.
struct probe {
  const std::string& store;
  lease_connection& connection;
  const sql::table_names& names;

  mysql_rows rows(const std::string& sql, const char* doing) const {
    return read_rows(connection, store, names.expand(sql), doing);
  }

  /// Whether the tables fit our statements. Some servers prepare an INSERT without a check of its columns.
  bool statements_fit(fault& why) const {
    const auto columns = names.expand(
        "SELECT {lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence}, {lock.acquired_at_us}, "
        "l.{lock.expires_at_us}, {lock.verified_by}, {lock.verifies}, {session.id}, s.{session.expires_at_us}, "
        "{session.ttl_us}, {session.beat}, {session.revoked}, {session.host}, {session.pid}, {session.label}, "
        "{session.started_at_us}, {session.boot} FROM {lock} l, {session} s WHERE 1=0");
    return connection.prepare_all(why) &&
           connection.query(columns, "looking at the tables", nullptr, nullptr, why) == outcome::yes;
  }

  void check_tables(sql::schema_mode mode) const {
    for (const char* const table : {"lock", "session", "floor"}) {
      const auto name = names.table(table);
      const auto found = rows(
          "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND "
          "TABLE_NAME=" +
              mysql_literal(name),
          "reading the tables");
      // A table without any privilege is not listed; preparing the statements explains that better.
      if (!found.empty() && found.at(0).at(0).value_or("") != "InnoDB") {
        fail(store, fmt::format("table {} has the engine {}: dlock needs the row locks of InnoDB", name,
                                found.at(0).at(0).value_or("(none)")));
      }
    }
    fault why;
    if (statements_fit(why)) return;
    if (denied(why)) {
      why.text += fmt::format(
          ": a program that locks needs SELECT, INSERT, UPDATE and DELETE on the tables {0}lock, {0}session and "
          "{0}floor",
          names.prefix());
    }
    if (why.native != static_cast<int>(mysql_no_such_table)) fail(store, why);
    if (mode != sql::schema_mode::create) {
      why.text += ": open the store with schema=create to make the tables";
      fail_tables(store, why);
    }
    why.text += ": somebody dropped it. Stop all programs, drop the other tables " + names.prefix() +
                "* too and begin anew, as docs/operations.md tells under \"An interrupted migration\"";
    fail(store, why);
  }

  /// Checks a row of the floor table. If it is missing, inserts `values` or throws the message `missing`.
  void ensure_floor(sql::schema_mode mode, int row, const std::string& missing, const std::string& values,
                    const char* doing) const {
    if (!rows(fmt::format("SELECT {{floor.fence}} FROM {{floor}} WHERE {{floor.id}}={}", row), "reading the floor")
             .empty()) {
      return;
    }
    if (mode != sql::schema_mode::create) fail_tables(store, make_own_fault(missing));
    rows("INSERT IGNORE INTO {floor} ({floor.id}, {floor.fence}) " + values, doing);
  }
};

/// With an empty floor, fences would repeat, so a new floor starts above all existing fences, and `above` them. The id
/// of the lock tables is made from the names of database and prefix, so that it is the same after somebody has dropped
/// and created the tables.
void ensure_floors(const probe& tables, sql::schema_mode mode, int above) {
  const auto name = tables.names.table("floor");
  tables.ensure_floor(
      mode, 1, fmt::format("table {} has no row with id 1: open the store with schema=create to repair it", name),
      fmt::format("SELECT 1, IFNULL(MAX({{lock.fence}}), 0) + {} FROM {{lock}}", above), "making the floor");
  const auto row = sql::tables_id::floor_row;
  tables.ensure_floor(mode, row, no_tables_id(name),
                      fmt::format("VALUES ({}, CONV(LEFT(SHA2(CONCAT(DATABASE(), '.{}'), 256), 8), 16, 10) & {})", row,
                                  tables.names.prefix(), sql::tables_id::most),
                      "giving the lock tables an id");
}

sql::written_version read_version(const probe& tables) {
  constexpr int no_such_table = 1146;
  mysql_rows rows;
  fault why;
  const auto sql = tables.names.expand(
      fmt::format("SELECT version, migration FROM {{version}} WHERE name='{}'", sql::table_names::schema));
  if (tables.connection.query(sql, "reading the version of the tables", &rows, nullptr, why) != outcome::yes) {
    if (why.native != no_such_table) fail_schema(tables.store, why);
    return {};
  }
  if (rows.empty()) return {};
  return {unsigned_of(rows.at(0).at(0)), rows.at(0).at(1).value_or("0") != "0"};
}

/// Handles a migration that a crash interrupted: finishes it if the tables are complete, or explains what to do,
/// because a server without transactional DDL can't promise that they are. Version 1 has nothing to migrate but
/// columns.
void finish_migration(const probe& tables, sql::schema_mode mode) {
  const auto there = read_version(tables);
  if (!there.migrating) return;
  const auto table = tables.names.table("schema_version");
  const auto begun = fmt::format("a migration of the lock tables to version {} was begun and not finished (table {})",
                                 there.version, table);
  if (there.version != sql::schema_version) {
    fail(tables.store,
         fmt::format("{}: start a program that knows version {}, and no other, with schema=create to finish it", begun,
                     there.version));
  }
  if (mode != sql::schema_mode::create)
    fail_tables(tables.store, make_own_fault(begun + ": start one program with schema=create to finish it"));
  fault why;
  if (!tables.statements_fit(why)) {
    fail(tables.store,
         fmt::format("{}, and a statement does not fit the tables ({}): stop all programs, note the highest "
                     "fence, drop the tables {}* and begin anew, as docs/operations.md tells under \"An "
                     "interrupted migration\"",
                     begun, why.text, tables.names.prefix()));
  }
  tables.rows(fmt::format("UPDATE {{version}} SET migration=0 WHERE name='{}' AND version={}", sql::table_names::schema,
                          there.version),
              "finishing a migration");
}

/// Lets one process at a time create the tables. The name does not depend on what GET_LOCK limits: length and letter
/// case.
class schema_lock {
 public:
  schema_lock(const probe& with, const std::string& database)
      : with_(with),
        name_("'dlock:" + dlock::detail::sha256_hex(database + "." + with.names.prefix()).substr(0, 40) + "'") {
    for (int tries = 0; tries != 15; ++tries) {
      if (with_.rows("SELECT GET_LOCK(" + name_ + ", 1)", "waiting to make the tables").at(0).at(0) == "1") return;
    }
    fail(with_.store, "another process has been making the lock tables for more than 15 seconds");
  }
  ~schema_lock() {
    fault ignored;  // the lock ends with the connection anyway
    with_.connection.query("DO RELEASE_LOCK(" + name_ + ")", "", nullptr, nullptr, ignored);
  }
  schema_lock(const schema_lock&) = delete;
  schema_lock& operator=(const schema_lock&) = delete;

 private:
  const probe& with_;
  std::string name_;
};

void make_tables(const probe& with) {
  for (const auto& each : sql::create_statements(schema_file, with.names, "INSERT IGNORE INTO")) {
    fault why;
    if (with.connection.query(each, "the lock tables", nullptr, nullptr, why) != outcome::yes)
      fail_schema(with.store, why);
  }
}

}  // namespace

void mysql_store::prepare() {
  const auto& settings = tables_.settings;
  fault why;
  const auto connection =
      tables_.client.open<lease_connection>(settings.connect_timeout, {}, why, tables_.sql, tables_.row_sql);
  if (!connection) fail(settings.name, why);
  const probe server{settings.name, *connection, tables_.sql.names()};
  check_server(*connection, settings.name);
  if (settings.schema == sql::schema_mode::none) return;
  {
    std::optional<schema_lock> lock;
    if (settings.schema == sql::schema_mode::create) lock.emplace(server, settings.database);
    finish_migration(server, settings.schema);
    const bool makes = sql::must_make_tables(settings.schema, server.names, settings.name, read_version(server));
    if (makes) make_tables(server);
    ensure_floors(server, settings.schema, makes ? 0 : sql::above_lost_floor);
    tables_.marks.make(*connection);
    tables_.shared.make(*connection);
  }
  server.check_tables(settings.schema);
  if (settings.wake) tables_.waiters.table().check_table(*connection);
  if (const auto read = tables_.read_id(*connection); read.result != outcome::yes) fail(settings.name, read.why);
}

}  // namespace dlock::stores::mysql::lease_table
