// SPDX-License-Identifier: BSL-1.0
#include "database.hpp"

#include <dlock/odb/database.hpp>
#include <odb/schema-catalog.hxx>
#include <odb/transaction.hxx>

namespace support {

void make_tables(odb::database& db) {
  odb::transaction t(dlock::begin_write(db));
  odb::schema_catalog::create_schema(db);  // drops those that are there
  t.commit();
}

}  // namespace support
