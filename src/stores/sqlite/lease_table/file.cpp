// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/file.hpp"

#include <utility>

#include "floor_entity-odb-sqlite.hxx"
#include "lock_entity-odb-sqlite.hxx"
#include "session_entity-odb-sqlite.hxx"

namespace dlock::stores::sqlite::lease_table {

lease_file::lease_file(const lease_settings& from, std::shared_ptr<const sqlite_host> machine)
    : sqlite_file(from, std::move(machine), [this](std::string_view generated) { return names.adapt(generated); }),
      schema(from.schema),
      sql(sql::make_table_names<odb::id_sqlite>(from.prefix, '"')),
      names(sql.names()) {
  sql::set_version_table(database(), names);
}

}  // namespace dlock::stores::sqlite::lease_table
