// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/file.hpp"

#include <fmt/format.h>

#include <utility>

#include "floor_entity-odb-sqlite.hxx"
#include "lock_entity-odb-sqlite.hxx"
#include "session_entity-odb-sqlite.hxx"

namespace dlock::stores::sqlite::lease_table {

lease_file::lease_file(const lease_settings& from, std::shared_ptr<const sqlite_host> machine)
    : sqlite_file(from, std::move(machine), [this](std::string_view generated) { return names.adapt(generated); }),
      schema(from.schema),
      wakes(from.wake),
      sql(sql::make_table_names<odb::id_sqlite>(from.prefix, '"')),
      names(sql.names()) {
  sql::set_version_table(database(), names);
}

std::string lease_file::unfit_for_waking() const {
  const auto& path = settings.path;
  if (const char* const kind = network_file_system(host->file_system(path))) {
    return fmt::format("waiters poll: '{}' is on a file system that machines may share ({})", path, kind);
  }
  if (host->mounted_alone(path)) return fmt::format("waiters poll: '{}' is mounted without its folder", path);
  return {};
}

}  // namespace dlock::stores::sqlite::lease_table
