// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sqlite/client/file.hpp"

#include <sys/stat.h>

#include <memory>
#include <utility>

#include "floor_entity-odb-sqlite.hxx"
#include "lock_entity-odb-sqlite.hxx"
#include "session_entity-odb-sqlite.hxx"

namespace dlock::stores {

namespace {

std::unique_ptr<sqlite_link_factory> make_links(const detail::odb_names& names, sqlite_link_factory*& seen) {
  auto made = std::make_unique<sqlite_link_factory>(names);
  seen = made.get();
  return made;
}

}  // namespace

file_id file_id::of(const char* path) noexcept {
  struct ::stat found {};
  if (path == nullptr || ::stat(path, &found) != 0) return {};
  return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino)};
}

sqlite_file::sqlite_file(sqlite_settings from, std::shared_ptr<const sqlite_host> machine)
    : settings(std::move(from)),
      names(detail::make_odb_names<odb::id_sqlite>(settings.prefix, '"')),
      sql(names),
      host(std::move(machine)),
      boot(host->boot_id()),
      database_(settings.path, SQLITE_OPEN_READWRITE, false, "", make_links(names, links_)) {
  detail::set_version_table(database_, names);
}

}  // namespace dlock::stores
