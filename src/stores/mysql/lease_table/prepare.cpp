// SPDX-License-Identifier: GPL-2.0-or-later
// Rule 14: what can't work is said at the start, in words.
#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <odb/exceptions.hxx>
#include <odb/mysql/exceptions.hxx>
#include <odb/schema-catalog.hxx>
#include <stdexcept>
#include <thread>
#include <utility>

#include "dlock/detail/sha256.hpp"
#include "dlock/error.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "stores/sql/scoped_transaction.hpp"

namespace dlock::stores {

using namespace dlock::detail;

namespace {

[[noreturn]] void fail(const std::string& store, const fault& why) {
  const auto text = why.text.rfind("dlock: ", 0) == 0 ? why.text : fmt::format("dlock: {}: {}", store, why.text);
  throw store_error(why.connection ? errc::store_unreachable : errc::store_failed, text, why.native, why.sqlstate,
                    why.transient);
}

[[noreturn]] void fail(const std::string& store, const std::string& text) { fail(store, make_own_fault(text)); }

/// ": this user lacks the right INSERT", where the server tells.
std::string lacks(const fault& why) {
  const auto right = missing_right(why.text);
  return right.empty() ? right : ": this user lacks the right " + right;
}

bool denied(const fault& why) { return why.native == 1142 || why.native == 1143 || why.native == 1044; }

[[noreturn]] void fail_schema(const std::string& store, fault why) {
  if (denied(why)) {
    why.text +=
        lacks(why) +
        ": making or changing the tables needs CREATE, ALTER, INDEX, REFERENCES and DROP; a user who only locks "
        "finds them made by another";
  }
  fail(store, why);
}

/// The look at the server that prepare() takes.
struct probe {
  const std::string& store;
  mysql_connection& on;
  const odb_names& names;

  mysql_rows rows(const std::string& sql, const char* doing) const {
    mysql_rows made;
    fault why;
    if (on.query(names.expand(sql), doing, &made, nullptr, why) != outcome::yes) fail(store, why);
    return made;
  }

  std::uint64_t change(const std::string& sql, const char* doing) const {
    std::uint64_t changed = 0;
    fault why;
    if (on.query(names.expand(sql), doing, nullptr, &changed, why) != outcome::yes) fail(store, why);
    return changed;
  }

  void check_settings() const {
    std::map<std::string, std::string> set;
    for (auto& row : rows("SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation', 'log_bin', "
                          "'binlog_format', 'autocommit', 'time_zone', 'version')",
                          "reading the settings")) {
      set[row.at(0).value_or("")] = row.at(1).value_or("");
    }
    const auto& isolation =
        set.count("transaction_isolation") != 0 ? set["transaction_isolation"] : set["tx_isolation"];
    if (isolation != "READ-COMMITTED" || set["autocommit"] != "ON") {
      fail(store, fmt::format("the session has isolation {} and autocommit {} although READ-COMMITTED and ON were set: "
                              "something between us and the server (a proxy?) does not pass settings on",
                              isolation, set["autocommit"]));
    }
    if (set["log_bin"] == "ON" && set["binlog_format"] == "STATEMENT") {
      fail(store,
           "binlog_format is STATEMENT, with which the server refuses writes in READ COMMITTED (error 1665): "
           "set "
           "it to MIXED or ROW");
    }
  }

  void check_clock() const {
    // One reading in a thousand ends in 000 by chance; five in a row do if the clock has only milliseconds.
    std::string before;
    for (int i = 0; i != 5; ++i) {
      const auto now = rows("SELECT {now}", "reading the clock").at(0).at(0).value_or("");
      if (now.size() < 16) fail(store, fmt::format("the server's clock says {} microseconds since 1970", now));
      if (now == before) {
        fail(store, "the server's clock stands still for this connection: does init_connect set a timestamp?");
      }
      if (i != 0 && now.substr(now.size() - 3) != "000") return;
      before = now;
    }
    fail(store, "the server's clock does not count microseconds");
  }

  /// Whether the tables are as our statements need them. Some servers prepare an INSERT without looking at its columns.
  bool statements_fit(fault& why) const {
    const auto columns = names.expand(
        "SELECT {lock.lock_key}, {lock.session_id}, {lock.nonce}, {lock.fence}, {lock.acquired_at_us}, "
        "l.{lock.expires_at_us}, {lock.verified_by}, {lock.verifies}, {session.id}, s.{session.expires_at_us}, "
        "{session.ttl_us}, {session.beat}, {session.doomed}, {session.host}, {session.pid}, {session.label}, "
        "{session.started_at_us}, {session.boot} FROM {lock} l, {session} s WHERE 1=0");
    return on.prepare_all(why) && on.query(columns, "looking at the tables", nullptr, nullptr, why) == outcome::yes;
  }

  void check_tables(schema_mode mode) const {
    for (const char* const table : {"lock", "session", "floor"}) {
      const auto name = names.table(table);
      const auto found = rows(
          "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND "
          "TABLE_NAME=" +
              mysql_literal(name),
          "reading the tables");
      // Without any privilege on a table it is not listed; preparing the statements says that better.
      if (!found.empty() && found.at(0).at(0).value_or("") != "InnoDB") {
        fail(store, fmt::format("table {} has the engine {}: dlock needs the row locks of InnoDB", name,
                                found.at(0).at(0).value_or("(none)")));
      }
    }
    fault why;
    if (statements_fit(why)) return;
    if (denied(why)) {
      why.text += fmt::format(
          "{1}: a program that locks needs SELECT, INSERT, UPDATE and DELETE on the tables {0}lock, "
          "{0}session and {0}floor",
          names.prefix(), lacks(why));
    }
    if (why.native == 1146) {
      why.text += mode == schema_mode::create
                      ? ": somebody dropped it. Stop all programs, drop the other tables " + names.prefix() +
                            "* too and begin anew, as docs/operations.md tells under \"An interrupted migration\""
                      : ": open the store with schema=create to make the tables";
    }
    fail(store, why);
  }

  /// An empty floor would give fences again that were given before: it starts above all that are there.
  void ensure_floor(schema_mode mode) const {
    if (!rows("SELECT {floor.fence} FROM {floor} WHERE {floor.id}=1", "reading the floor").empty()) return;
    if (mode != schema_mode::create) {
      fail(store, fmt::format("table {} has no row with id 1: open the store with schema=create to repair it",
                              names.table("floor")));
    }
    change(
        "INSERT IGNORE INTO {floor} ({floor.id}, {floor.fence}) SELECT 1, IFNULL(MAX({lock.fence}), 0) FROM "
        "{lock}",
        "making the floor");
  }
};

/// How far the tables are, as the version table says it.
struct written_version {
  std::uint64_t version = 0;
  bool migrating = false;
};

written_version read_version(const probe& look) {
  constexpr int no_such_table = 1146;
  mysql_rows rows;
  fault why;
  const auto sql =
      look.names.expand(fmt::format("SELECT version, migration FROM {{version}} WHERE name='{}'", odb_names::schema));
  if (look.on.query(sql, "reading the version of the tables", &rows, nullptr, why) != outcome::yes) {
    if (why.native != no_such_table) fail_schema(look.store, why);
    return {};
  }
  if (rows.empty()) return {};
  return {std::strtoull(rows.at(0).at(0).value_or("0").c_str(), nullptr, 10), rows.at(0).at(1).value_or("0") != "0"};
}

/// A migration that a crash interrupted: it is finished where the tables turn out to be complete, which a server without
/// transactions for such changes can't promise. Else the way out is said. Version 1 has nothing to migrate but columns.
void finish_migration(const probe& look, odb::mysql::database& database, schema_mode mode) {
  const auto there = read_version(look);
  if (!there.migrating) return;
  const auto ours = odb::schema_catalog::current_version(database, odb_names::schema);
  const auto table = look.names.table("schema_version");
  const auto begun = fmt::format("a migration of the lock tables to version {} was begun and not finished (table {})",
                                 there.version, table);
  if (there.version != ours) {
    fail(look.store,
         fmt::format("{}: start a program that knows version {}, and no other, with schema=create to finish it", begun,
                     there.version));
  }
  if (mode != schema_mode::create) fail(look.store, begun + ": start one program with schema=create to finish it");
  fault why;
  if (!look.statements_fit(why)) {
    fail(look.store,
         fmt::format("{}, and a statement does not fit the tables ({}): stop all programs, note the highest "
                     "fence, drop the tables {}* and begin anew, as docs/operations.md tells under \"An "
                     "interrupted migration\"",
                     begun, why.text, look.names.prefix()));
  }
  look.change(fmt::format("UPDATE {{version}} SET migration=0 WHERE name='{}' AND version={}", odb_names::schema,
                          there.version),
              "finishing a migration");
}

/// One process at a time makes the tables. The name is free of what GET_LOCK limits: length and letter case.
class schema_turn {
 public:
  schema_turn(const probe& with, const std::string& database)
      : with_(with), name_("'dlock:" + sha256_hex(database + "." + with.names.prefix()).substr(0, 40) + "'") {
    for (int tries = 0; tries != 15; ++tries) {
      if (with_.rows("SELECT GET_LOCK(" + name_ + ", 1)", "waiting to make the tables").at(0).at(0) == "1") return;
    }
    fail(with_.store, "another process has been making the lock tables for more than 15 seconds");
  }
  ~schema_turn() {
    fault ignored;  // it ends with the connection anyway
    with_.on.query("DO RELEASE_LOCK(" + name_ + ")", "", nullptr, nullptr, ignored);
  }
  schema_turn(const schema_turn&) = delete;
  schema_turn& operator=(const schema_turn&) = delete;

 private:
  const probe& with_;
  std::string name_;
};

void run_schema(odb::mysql::database& database, schema_mode mode, const probe& with) {
  odb_scope scope(with.on.odb());
  ensure_schema(database, mode, with.names, with.store);
  scope.commit();
}

}  // namespace

void mysql_store::prepare() {
  fault why;
  const auto on = open(settings_.connect_timeout, {}, why);
  if (!on) fail(settings_.name, why);
  const probe look{settings_.name, *on, sql_.names()};
  look.check_settings();
  look.check_clock();
  if (settings_.schema == schema_mode::none) return;
  try {
    if (settings_.schema == schema_mode::create) {
      const schema_turn turn(look, settings_.database);
      finish_migration(look, database_, schema_mode::create);
      run_schema(database_, schema_mode::create, look);
      look.ensure_floor(schema_mode::create);
    } else {
      finish_migration(look, database_, schema_mode::verify);
      run_schema(database_, schema_mode::verify, look);
      look.ensure_floor(schema_mode::verify);
    }
  } catch (const odb::mysql::database_exception& e) {
    fail_schema(settings_.name, make_mysql_fault(e.error(), e.sqlstate(), e.message(), "the lock tables"));
  } catch (const odb::exception& e) {
    fail_schema(settings_.name, make_own_fault(fmt::format("the lock tables: {}", e.what()), true, !on->usable()));
  }
  look.check_tables(settings_.schema);
}

bool mysql_store::settle(connection& on, const connection_identity& lost) noexcept {
  if (lost.id == 0) return true;
  try {
    auto& with = static_cast<native&>(on);
    switch (compare_servers(lost, on.identity())) {
      case lost_connection::ended: return true;
      case lost_connection::out_of_reach: return false;
      case lost_connection::reachable: break;
    }
    fault why;
    // Killed is not gone: a statement notices when it looks, and it rolls back first. Asked by KILL again, because the
    // process list does not show other users' connections to everybody.
    for (int tries = 0; tries != 100; ++tries) {
      if (with.query(fmt::format("KILL {}", lost.id), "kill", nullptr, nullptr, why) != outcome::yes) {
        return why.native == static_cast<int>(mysql_no_such_thread);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{tries < 10 ? 1 : 10});
    }
  } catch (...) {
    return false;  // not certain: asked again later
  }
  return false;
}

}  // namespace dlock::stores
