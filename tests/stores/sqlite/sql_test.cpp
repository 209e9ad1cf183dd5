// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/sql.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "contract/backends/sqlite/file_fixture.hpp"
#include "floor_entity-odb-sqlite.hxx"
#include "lock_entity-odb-sqlite.hxx"
#include "session_entity-odb-sqlite.hxx"
#include "support/raw_sqlite.hpp"

using namespace dlock::test;
using namespace dlock::stores::sqlite::lease_table;

TEST_CASE("sqlite sql: each parameter of a statement has the number that it is bound by", "[sqlite]") {
  sqlite_file_fixture fixture;
  static_cast<void>(fixture.open());
  raw_sqlite raw(fixture.path);
  const lease_sql sql(dlock::stores::sql::make_table_names<odb::id_sqlite>("dlock_", '"'));
  for (std::size_t i = 0; i != statement_count; ++i) {
    const auto& text = sql.statement(static_cast<statement_id>(i));
    INFO(text.name << ": " << text.sql);
    sqlite3_stmt* prepared = nullptr;
    REQUIRE(sqlite3_prepare_v2(raw.handle(), text.sql.c_str(), -1, &prepared, nullptr) == SQLITE_OK);
    CHECK(sqlite3_bind_parameter_count(prepared) == static_cast<int>(text.parameters.size()));
    for (std::size_t at = 0; at != text.parameters.size(); ++at) {
      const char* const name = sqlite3_bind_parameter_name(prepared, static_cast<int>(at) + 1);
      CHECK(std::string(name == nullptr ? "" : name) == ":" + std::string(parameter_names.at(text.parameters[at])));
    }
    sqlite3_finalize(prepared);
  }
}
