// SPDX-License-Identifier: GPL-2.0-or-later
// Sells a ticket: locks its row, writes it, unlocks it.
#include <dlock/detail/odb_compat.hpp>
//
#include <dlock/dlock.hpp>
#include <dlock/odb/claim.hpp>
#include <dlock/odb/lock_row.hpp>
#include <dlock/odb/verify.hpp>
#include <iostream>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/database.hxx>
#include <odb/transaction.hxx>
#include <string>

#include "ticket-odb.hxx"

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "rows.db";
  odb::sqlite::database of_sqlite(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  odb::database& db = of_sqlite;
  dlock::lock_service locks("sqlite:" + file);
  {
    odb::transaction in(db.begin());
    odb::schema_catalog::create_schema(db);
    ticket one{.id = 42};
    db.persist(one);
    in.commit();
  }
  auto row = dlock::lock_row<ticket>(locks, db, 42);
  row->buyer = "ada";
  row.commit();
  const auto again = dlock::claim<ticket>(locks, db, odb::query<ticket>::buyer == "ada", 1);
  return again.size() == 1 && again.front().held().fencing_token() == 2 ? 0 : 1;
}
