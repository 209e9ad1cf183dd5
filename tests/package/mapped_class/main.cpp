// SPDX-License-Identifier: BSL-1.0
// Sells a ticket: locks its row, writes it, unlocks it.
#include <odb/database.hxx>  // ODB's headers in any order
//
#include <dlock/dlock.hpp>
#include <dlock/odb/claim.hpp>
#include <dlock/odb/database.hpp>
#include <dlock/odb/lock_row.hpp>
#include <dlock/odb/verify.hpp>
#include <iostream>
#include <odb/schema-catalog.hxx>
#include <odb/transaction.hxx>
#include <string>

#include "ticket.entity-odb.hxx"

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "rows.db";
  const auto opened = dlock::open_database("sqlite:" + file);
  odb::database& db = *opened;
  dlock::lock_service locks("sqlite:" + file);
  {
    odb::transaction in(dlock::begin_write(db));
    odb::schema_catalog::create_schema(db);
    ticket sold{.id = 42};
    db.persist(sold);
    in.commit();
  }
  auto row = dlock::lock_row<ticket>(locks, db, 42);
  row->buyer = "ada";
  row.commit();
  const auto again = dlock::claim<ticket>(locks, db, odb::query<ticket>::buyer == "ada", 1);
  return again.size() == 1 && again.front().held().fencing_token() == 2 ? 0 : 1;
}
