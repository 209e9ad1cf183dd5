// SPDX-License-Identifier: BSL-1.0

/// The lock tables, which the mapped classes in odb/ define: what the stores call their columns, and the statements in
/// sql/ by which they make them.

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/query.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/traits.hxx>

#include <fstream>
#include <set>
#include <sstream>

#include "floor_entity-odb-mysql.hxx"
#include "floor_entity-odb-sqlite.hxx"
#include "lock_entity-odb-mysql.hxx"
#include "lock_entity-odb-sqlite.hxx"
#include "session_entity-odb-mysql.hxx"
#include "session_entity-odb-sqlite.hxx"
#include "waiter_entity-odb-mysql.hxx"

#include "stores/mysql/parked/waiter_table.hpp"
#include "stores/sql/schema.hpp"
#include "support/sql_file.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

using names = std::map<std::string, std::string, std::less<>>;

template <class Entity, odb::database_id Id>
using traits = odb::access::object_traits_impl<Entity, Id>;
template <class Entity, odb::database_id Id>
using columns = odb::query_columns<Entity, Id, traits<Entity, Id>>;

/// As ODB's compiler wrote them.
template <odb::database_id Id>
names names_of_odb() {
  using lock = columns<entities::lock_entity, Id>;
  using session = columns<entities::session_entity, Id>;
  using floor = columns<entities::floor_entity, Id>;
  return {{"lock", traits<entities::lock_entity, Id>::table_name},
          {"lock.lock_key", lock::lock_key.column()},
          {"lock.session_id", lock::session_id.column()},
          {"lock.nonce", lock::nonce.column()},
          {"lock.fence", lock::fence.column()},
          {"lock.acquired_at_us", lock::acquired_at_us.column()},
          {"lock.expires_at_us", lock::expires_at_us.column()},
          {"lock.verified_by", lock::verified_by.column()},
          {"lock.verifies", lock::verifies.column()},
          {"session", traits<entities::session_entity, Id>::table_name},
          {"session.id", session::id.column()},
          {"session.expires_at_us", session::expires_at_us.column()},
          {"session.ttl_us", session::ttl_us.column()},
          {"session.beat", session::beat.column()},
          {"session.revoked", session::revoked.column()},
          {"session.host", session::host.column()},
          {"session.pid", session::pid.column()},
          {"session.label", session::label.column()},
          {"session.started_at_us", session::started_at_us.column()},
          {"session.boot", session::boot.column()},
          {"floor", traits<entities::floor_entity, Id>::table_name},
          {"floor.id", floor::id.column()},
          {"floor.fence", floor::fence.column()}};
}

names waiter_names_of_odb() {
  using waiter = columns<entities::waiter_entity, odb::id_mysql>;
  return {{"waiter", traits<entities::waiter_entity, odb::id_mysql>::table_name},
          {"waiter.lock_key", waiter::place.lock_key.column()},
          {"waiter.since_us", waiter::place.since_us.column()},
          {"waiter.wake_id", waiter::place.wake_id.column()},
          {"waiter.session_id", waiter::session_id.column()},
          {"waiter.held", waiter::held.column()}};
}

stores::sql::table_names our_names(char quote) { return stores::sql::make_table_names("dlock_", quote); }

/// The statements of a file that make tables.
std::set<std::string> statements_in(const std::string& path, char quote) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  const auto found = stores::sql::create_statements(text.str(), our_names(quote), "INSERT INTO");
  REQUIRE(found.back().starts_with("INSERT INTO"));  // writes the tables' version
  return {found.begin(), found.end() - 1};
}

std::set<std::string> statements_of_odb(const std::string& database, char quote,
                                        std::initializer_list<const char*> entities) {
  std::set<std::string> all;
  for (const auto* const each : entities)
    all.merge(statements_in(fmt::format("{}/{}_entity-{}.sql", DLOCK_TEST_GENERATED, each, database), quote));
  return all;
}

}  // namespace

TEST_CASE("tables: the stores know tables and columns by the names of the mapped classes") {
  for (const auto& [quote, expected] :
       {std::pair('`', names_of_odb<odb::id_mysql>()), std::pair('"', names_of_odb<odb::id_sqlite>())}) {
    auto all = our_names(quote).all();
    all.erase("version");  // no class: ODB makes this one by itself
    CHECK(all == expected);
  }
  auto with_waiters = our_names('`');
  stores::mysql::parked::add_waiter_names(with_waiters);
  for (const auto& [placeholder, name] : waiter_names_of_odb()) {
    const auto* const found = with_waiters.find(placeholder);
    REQUIRE(found != nullptr);
    CHECK(*found == name);
  }
}

TEST_CASE("tables: sql/schema-sqlite.sql has the statements of ODB's compiler") {
  const auto ours = statements_in(DLOCK_TEST_SQL_FOLDER "/schema-sqlite.sql", '"');
  CHECK(ours.size() == 4);
  CHECK(ours == statements_of_odb("sqlite", '"', {"floor", "lock", "session"}));
}

TEST_CASE("tables: sql/schema-mysql.sql has the statements of ODB's compiler, and one short index") {
  std::set<std::string> ours;
  // A text in the database's character set would be too long an index for the row formats of older servers, and of
  // servers that kept their settings.
  for (const auto& each : statements_in(DLOCK_TEST_SQL_FOLDER "/schema-mysql.sql", '`'))
    ours.insert(replaced(each, "`name` VARCHAR(255) CHARACTER SET ascii NOT NULL", "`name` VARCHAR(255) NOT NULL"));
  CHECK(ours.size() == 5);
  CHECK(ours == statements_of_odb("mysql", '`', {"floor", "lock", "session", "waiter"}));
}

TEST_CASE("tables: their version is that of the mapped classes, in a schema of their own") {
  for (const auto database : {odb::id_mysql, odb::id_sqlite}) {
    REQUIRE(odb::schema_catalog::exists(database, stores::sql::table_names::schema));
    CHECK(odb::schema_catalog::current_version(database, stores::sql::table_names::schema) ==
          stores::sql::schema_version);
    CHECK_FALSE(odb::schema_catalog::exists(database, ""));
  }
}

}  // namespace dlock::test
