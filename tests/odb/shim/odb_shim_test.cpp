// SPDX-License-Identifier: BSL-1.0
#include <dlock/detail/odb_compat.hpp>
//
#include <odb/database.hxx>
#include <odb/mysql/database.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/database.hxx>
#include <odb/transaction.hxx>

#include "note-odb.hxx"
#include "note.hpp"
#include "support/test.hpp"

using dlock::test::note;

TEST_CASE("odb shim: generated code makes its table and stores an object in a C++20 program") {
  odb::sqlite::database file(":memory:");
  odb::database& database = file;
  odb::transaction transaction(database.begin());
  odb::schema_catalog::create_schema(database, "", false);
  note written{0, "hello"};
  database.persist(written);
  const std::unique_ptr<note> read(database.load<note>(written.id));
  transaction.commit();
  CHECK(read->text == "hello");
}

TEST_CASE("odb shim: the MySQL runtime has its schema in the program too") {
  STATIC_REQUIRE(std::is_polymorphic_v<odb::mysql::database>);
  CHECK(odb::schema_catalog::exists(odb::id_mysql));
  CHECK(odb::schema_catalog::exists(odb::id_sqlite));
}
