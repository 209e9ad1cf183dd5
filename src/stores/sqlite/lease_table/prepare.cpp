// SPDX-License-Identifier: BSL-1.0

/// What a store does once, before its first verb: file, schema, and what another boot left behind.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <odb/exceptions.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/exceptions.hxx>

#include "stores/sql/named_sql.hpp"
#include "stores/sql/schema.hpp"
#include "stores/sql/scoped_transaction.hpp"
#include "stores/sqlite/client/location.hpp"
#include "stores/sqlite/lease_table/prepare.hpp"
#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

void check_system(const sqlite_file& file) {
  constexpr int returning = 3'035'000;  // the version that brought RETURNING
  if (::sqlite3_libversion_number() < returning) {
    refuse(fmt::format("SQLite {} is too old, 3.35 or newer is needed", ::sqlite3_libversion()));
  }
  if (file.boot.empty()) {
    refuse(
        "this system does not tell its boot id (/proc/sys/kernel/random/boot_id), without which the times in an SQLite "
        "lock file mean nothing");
  }
  if (file.host->shifted_clock()) {
    refuse(
        "this process runs in a time namespace whose clock differs from the host's (/proc/self/timens_offsets): it "
        "can't share an SQLite lock file with others");
  }
}

[[noreturn]] void refuse_tables(const lease_file& file, const std::string& why) {
  const auto& names = file.names;
  refuse(
      fmt::format("SQLite file '{}': the lock tables are not those of this program's version: {}{}. To make them anew, "
                  "while no program uses them: drop the tables {}, {} and {}; add 1000000 to fence in row 1 of {}, "
                  "so that no fencing token comes twice; start with schema=create",
                  file.settings.path, why, sql::advice_on_older_tables(names, why), names.table("lock"),
                  names.table("session"), names.table("schema_version"), names.table("floor")));
}

/// Why a statement of ours can't be prepared, by SQLite; empty: all can, so tables and columns are there.
std::string unfit_tables(lease_connection& connection) {
  for (std::size_t i = 0; i < statement_count; ++i) {
    sqlite_statement s;
    if (s.prepare(connection.handle(), connection.file().sql.statement(static_cast<statement_id>(i)).sql) != SQLITE_OK)
      return ::sqlite3_errmsg(connection.handle());
  }
  return {};
}

/// Whether the statement, which may name our tables' :schema and :version, shows a row. Throws as ODB does.
bool finds_row(lease_connection& connection, const std::string& sql) {
  sqlite_statement s;
  int code = s.prepare(connection.handle(), sql);
  if (code == SQLITE_OK) {
    s.bind_named(":schema", std::string_view(sql::table_names::schema));
    s.bind_named(":version", std::uint64_t{odb::schema_catalog::current_version(connection.file().database(),
                                                                                sql::table_names::schema)});
    code = s.step();
  }
  if (code == SQLITE_ROW || code == SQLITE_DONE) return code == SQLITE_ROW;
  throw odb::sqlite::database_exception(code & 0xff, code, ::sqlite3_errmsg(connection.handle()));
}

/// Whether there is nothing to make: known by reading, so that opening a file waits for no writer.
bool is_made(lease_connection& connection) try {
  return unfit_tables(connection).empty() && finds_row(connection, connection.file().names.expand(R"(
SELECT 1
FROM {version}
WHERE name = :schema
  AND version = :version
  AND NOT migration
  AND EXISTS (SELECT 1 FROM {floor} WHERE {floor.id} = 1)
)"));
} catch (const odb::sqlite::database_exception&) {
  return false;  // the attempt to make it gives the reason
}

/// In SQLite the tables are made in one transaction, so nothing of dlock leaves them half made. Whoever runs the
/// statements one by one may: what is missing can be made as if nothing had been begun. False: no table was there.
bool begin_anew(lease_connection& connection) {
  const auto& names = connection.file().names;
  const std::string there = fmt::format(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{}' COLLATE NOCASE", names.table("schema_version"));
  if (!finds_row(connection, there)) return false;
  finds_row(connection,
            names.expand("DELETE FROM {version} WHERE name = :schema AND migration AND version <= :version"));
  return true;
}

void make_schema(lease_connection& connection) {
  lease_file& file = connection.file();
  if (is_made(connection)) return;
  connection.odb().writes = file.schema == sql::schema_mode::create;
  patiently(connection, [&] {
    sql::scoped_transaction scope(connection.odb());
    const bool there = connection.odb().writes && begin_anew(connection);
    sql::ensure_schema(file.database(), file.schema, file.names, file.settings.name);
    if (const std::string why = unfit_tables(connection); !why.empty()) refuse_tables(file, why);
    if (connection.odb().writes) {
      // Above what can be seen: if the row was lost, no one knows what has been given out and swept.
      const auto above = std::to_string(there ? sql::above_lost_floor : 0);
      connection.odb().execute(sql::expand(file.names, R"(
INSERT INTO {floor} ({floor.id}, {floor.fence})
SELECT 1, COALESCE(MAX({lock.fence}), 0) + {above}
FROM {lock}
WHERE TRUE
ON CONFLICT DO NOTHING
)",
                                           {{"above", above}}));
    } else if (!finds_row(connection, file.names.expand("SELECT 1 FROM {floor} WHERE {floor.id} = 1"))) {
      refuse(fmt::format("SQLite file '{}': row 1 of table {} is missing; schema=create makes it", file.settings.path,
                         file.names.table("floor")));
    }
    scope.commit();
  });
  connection.odb().writes = false;
}

}  // namespace

void sqlite_store::prepare() {
  check_system(*file_);
  const bool create = file_->schema == sql::schema_mode::create;
  check_location(*file_, create);
  fault why;
  const auto connection = std::make_unique<lease_connection>(file_);
  if (!connection->open(file_->settings.busy_timeout, create, why)) refuse(why);
  try {
    make_schema(*connection);
    forget_other_boots(*connection);
  } catch (const odb::exception& e) {
    refuse(fmt::format("SQLite file '{}': {}", file_->settings.path, e.what()));
  }
}

}  // namespace dlock::stores::sqlite::lease_table
