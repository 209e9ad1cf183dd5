// SPDX-License-Identifier: GPL-2.0-or-later

/// What a store does once, before its first verb: file, schema, and what another boot left behind.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <odb/exceptions.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/exceptions.hxx>

#include "dlock/error.hpp"
#include "stores/odb_schema.hpp"
#include "stores/odb_scope.hpp"
#include "stores/sqlite_prepare.hpp"
#include "stores/sqlite_store.hpp"

namespace dlock::stores {

void refuse(const fault& why) {
  throw store_error(why.connection ? errc::store_unreachable : errc::store_failed, "dlock: " + why.text, why.native, "",
                    why.transient);
}

void refuse(std::string text) { refuse(fault{.text = std::move(text)}); }

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

void check_place(const sqlite_settings& settings) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // what can't be looked at, SQLite will name
  const fs::path path = settings.path;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (fs::is_directory(path, ignored)) refuse(fmt::format("SQLite file '{}' is a folder", settings.path));
  if (!fs::exists(folder, ignored)) {
    refuse(fmt::format("SQLite file '{}': the folder '{}' does not exist", settings.path, folder.string()));
  }
  if (settings.schema != detail::schema_mode::create && !fs::exists(path, ignored)) {
    refuse(fmt::format("SQLite file '{}' does not exist; schema=create makes it", settings.path));
  }
}

/// Whether there is nothing to make: known by reading, so that opening a file waits for no writer.
bool is_made(sqlite_connection& on) {
  sqlite_file& file = on.file();
  sqlite_statement s;
  // Without the tables it can't be prepared.
  const int code = s.prepare(on.handle(), file.names.expand("SELECT 1 FROM {version} WHERE name = ?1 AND version = ?2"
                                                            " AND NOT migration AND EXISTS"
                                                            " (SELECT 1 FROM {floor} WHERE {floor.id} = 1)"));
  if (code != SQLITE_OK) return false;
  const auto ours = odb::schema_catalog::current_version(file.database(), detail::odb_names::schema);
  s.bind_text(1, detail::odb_names::schema);
  s.bind(2, std::uint64_t{ours});
  return s.step() == SQLITE_ROW;
}

void make_schema(sqlite_connection& on) {
  sqlite_file& file = on.file();
  if (is_made(on)) return;
  on.odb().writes = file.settings.schema == detail::schema_mode::create;
  patiently(on, [&] {
    detail::odb_scope scope(on.odb());
    detail::ensure_schema(file.database(), file.settings.schema, file.names, file.settings.name);
    if (on.odb().writes) {
      on.odb().execute(
          file.names.expand("INSERT INTO {floor} ({floor.id}, {floor.fence}) VALUES (1, 0)"
                            " ON CONFLICT DO NOTHING"));
    }
    scope.commit();
  });
  on.odb().writes = false;
}

}  // namespace

void sqlite_store::prepare() {
  check_system(*file_);
  check_place(file_->settings);
  fault why;
  const bool create = file_->settings.schema == detail::schema_mode::create;
  const auto on = sqlite_connection::open(file_, file_->settings.busy_timeout, create, why);
  if (on == nullptr) refuse(why);
  try {
    make_schema(*on);
    forget_other_boots(*on);
  } catch (const odb::exception& e) {
    refuse(fmt::format("SQLite file '{}': {}", file_->settings.path, e.what()));
  }
}

}  // namespace dlock::stores
