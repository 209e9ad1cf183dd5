// SPDX-License-Identifier: GPL-2.0-or-later

/// What a store does once, before its first verb: file, schema, and what another boot left behind.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <odb/exceptions.hxx>
#include <odb/schema-catalog.hxx>
#include <odb/sqlite/exceptions.hxx>
#include <sstream>

#include "dlock/error.hpp"
#include "stores/odb_schema.hpp"
#include "stores/odb_scope.hpp"
#include "stores/sqlite_error.hpp"
#include "stores/sqlite_row_sql.hpp"
#include "stores/sqlite_store.hpp"

namespace dlock::stores {

namespace {

[[noreturn]] void refuse(const fault& why) {
  throw store_error(why.connection ? errc::store_unreachable : errc::store_failed, "dlock: " + why.text, why.native, "",
                    why.transient);
}

[[noreturn]] void refuse(std::string text) { refuse(fault{.text = std::move(text)}); }

void check_system(const sqlite_file& file) {
  constexpr int returning = 3'035'000;  // the version that brought RETURNING
  if (::sqlite3_libversion_number() < returning) {
    refuse(fmt::format("SQLite {} is too old, 3.35 or newer is needed", ::sqlite3_libversion()));
  }
  if (file.boot.empty()) {
    refuse(
        "this system does not tell its boot id (/proc/sys/kernel/random/boot_id), without which the times in "
        "an "
        "SQLite lock file mean nothing");
  }
  // Lines such as "boottime  86400  0": how far this process's clock is from that of its host.
  std::ifstream offsets("/proc/self/timens_offsets");
  for (std::string clock, seconds, rest; offsets >> clock >> seconds && std::getline(offsets, rest);) {
    if (clock == "boottime" && seconds != "0") {
      refuse(
          "this process runs in a time namespace whose clock differs from the host's: it can't share an "
          "SQLite lock "
          "file with others");
    }
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

/// Calls `step` until SQLite is not busy. The step leaves no transaction open.
template <class Step>
void patiently(sqlite_connection& on, Step step) {
  sqlite_turn turn(on, lane::write, on.file().settings.busy_timeout);
  int code = turn.begin();
  std::string text;
  if (code != SQLITE_OK) refuse(sqlite_fault(code, on.file().settings.path));
  do {
    try {
      return step();
    } catch (const odb::timeout&) {
      code = SQLITE_BUSY;
    } catch (const odb::sqlite::database_exception& e) {
      code = e.extended_error();
      text = e.message();
    }
  } while (turn.again(code));
  refuse(sqlite_fault(code, on.file().settings.path, is_busy(code) ? "" : text));
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

/// The boot id as a number that fits a column: its first hexadecimal digits, 62 bits.
std::int64_t boot_mark(const std::string& boot) {
  std::string digits;
  std::copy_if(boot.begin(), boot.end(), std::back_inserter(digits), [](char c) { return c != '-'; });
  std::uint64_t mark = 0;
  std::from_chars(digits.data(), digits.data() + std::min<std::size_t>(digits.size(), 16), mark, 16);
  return static_cast<std::int64_t>(mark >> 2);
}

// Row 2 of the floor table says which boot all times in the file belong to, also those of locks whose session
// has no row. What a session of this boot holds is never touched: its row proves that the mark is behind.
constexpr const char* other_boot = "(SELECT COUNT(*) FROM {floor} WHERE {floor.id} = 2 AND {floor.fence} = :mark) = 0";
// Row 3 is what row_epoch() is: added to this boot's clock it is about the wall clock's time, and stays what it is until
// the next boot. So the expiry of a row locked in place, which only its own application could find, ends after a reboot
// about when it would have ended without.
constexpr const char* forget_other_boot[] = {
    ("UPDATE {lock} SET {lock.session_id} = NULL, {lock.expires_at_us} = NULL"
     " WHERE {lock.session_id} IN (SELECT {session.id} FROM {session} WHERE {session.boot} <> :boot)"
     " OR {other_boot} AND {lock.session_id} NOT IN (SELECT {session.id} FROM {session} WHERE {session.boot} = :boot)"),
    "UPDATE {lock} SET {lock.acquired_at_us} = :now WHERE {lock.acquired_at_us} > :now",
    "DELETE FROM {session} WHERE {session.boot} <> :boot",
    ("INSERT INTO {floor} ({floor.id}, {floor.fence}) VALUES (3, :epoch)"
     " ON CONFLICT ({floor.id}) DO UPDATE SET {floor.fence} = :epoch"
     " WHERE {other_boot} AND NOT EXISTS (SELECT 1 FROM {session} WHERE {session.boot} = :boot)"),
    ("INSERT INTO {floor} ({floor.id}, {floor.fence}) VALUES (2, :mark)"
     " ON CONFLICT ({floor.id}) DO UPDATE SET {floor.fence} = :mark"),
};

/// Whoever wrote under another boot id is dead, whatever its clock said.
void free_other_boot(sqlite_connection& on) {
  sqlite_file& file = on.file();
  detail::odb_names names = file.names;
  names.add_text("other_boot", file.names.expand(other_boot));
  const std::int64_t mark = boot_mark(file.boot);
  const microseconds epoch = row_time::wall_clock() - boot_clock::now().time_since_epoch();
  std::int64_t first = 0;
  // Returns whether a row came back.
  const auto run = [&](std::string_view sql) {
    sqlite_statement s;
    int code = s.prepare(on.handle(), names.expand(sql));
    if (code == SQLITE_OK) {
      s.bind_named(":mark", mark);
      s.bind_named(":now", std::int64_t{boot_clock::now().time_since_epoch().count()});
      s.bind_named(":epoch", std::int64_t{epoch.count()});
      s.bind_named(":boot", file.boot);
      code = s.step();
      if (code == SQLITE_ROW) first = s.integer(0);
    }
    if (code == SQLITE_ROW || code == SQLITE_DONE) return code == SQLITE_ROW;
    throw odb::sqlite::database_exception(code & 0xff, code, ::sqlite3_errmsg(on.handle()));
  };
  patiently(on, [&] {
    if (!run("SELECT 1 WHERE {other_boot} OR EXISTS (SELECT 1 FROM {session} WHERE {session.boot} <> :boot)"
             " OR NOT EXISTS (SELECT 1 FROM {floor} WHERE {floor.id} = 3)")) {
      return;
    }
    on.odb().writes = true;
    detail::odb_scope scope(on.odb());
    for (const char* sql : forget_other_boot) run(sql);
    scope.commit();
  });
  on.odb().writes = false;
  patiently(on, [&] { run("SELECT {floor.fence} FROM {floor} WHERE {floor.id} = 3"); });
  file.row_epoch(microseconds{first});
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
    free_other_boot(*on);
  } catch (const odb::exception& e) {
    refuse(fmt::format("SQLite file '{}': {}", file_->settings.path, e.what()));
  }
}

}  // namespace dlock::stores
