// SPDX-License-Identifier: BSL-1.0

/// Runs once, before a store's first verb: checks the file and the schema, and handles what another boot left.

#include "stores/sqlite/lease_table/store.hpp"

#include <fmt/format.h>

#include <optional>

namespace dlock::stores::sqlite::lease_table {

namespace {

constexpr std::string_view schema_file =
#include "schema-sqlite.sql.inc"
    ;
constexpr std::string_view done_file =
#include "done-sqlite.sql.inc"
    ;
constexpr std::string_view member_file =
#include "member-sqlite.sql.inc"
    ;

/// Thrown for a statement that SQLite refused.
struct refused_statement {
  int code;
  std::string text;
};

/// Repeats `step` while SQLite is busy. The step leaves no transaction open.
template <class Step>
void patiently(sqlite_connection& connection, Step step) {
  sqlite_busy_retry retry(connection, lane::write, connection.file().settings.busy_timeout);
  int code = retry.begin();
  std::string text;
  if (code != SQLITE_OK) refuse(sqlite_fault(code, connection.file().settings.path));
  do {
    try {
      return step();
    } catch (const refused_statement& e) {
      code = e.code;
      text = e.text;
    }
  } while (retry.again(code));
  refuse(sqlite_fault(code, connection.file().settings.path, is_busy(code) ? "" : text));
}

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
  refuse_unfit(
      fmt::format("SQLite file '{}': the lock tables are not those of this program's version: {}. To make them anew, "
                  "while no program uses them: drop the tables {}, {} and {}; add 1000000 to fence in row 1 of {}, "
                  "so that no fencing token comes twice; start with schema=create",
                  file.settings.path, why, names.table("lock"), names.table("session"), names.table("schema_version"),
                  names.table("floor")));
}

/// Why SQLite can't prepare one of our statements; empty if it can prepare all, so that tables and columns exist.
std::string unfit_tables(lease_connection& connection) {
  for (std::size_t i = 0; i < statement_count; ++i) {
    sqlite_statement s;
    if (s.prepare(connection.handle(), connection.file().sql.statement(static_cast<statement_id>(i)).sql) != SQLITE_OK)
      return ::sqlite3_errmsg(connection.handle());
  }
  return {};
}

/// Runs a statement once, with the parameters that are bound here. Returns the first column of its first row, or
/// nothing without a row. Throws refused_statement.
std::optional<std::int64_t> run_once(lease_connection& connection, std::string_view sql) {
  lease_file& file = connection.file();
  sqlite_statement s;
  int code = s.prepare(connection.handle(), file.names.expand(sql));
  if (code == SQLITE_OK) {
    const auto now = microseconds{file.now()};
    s.bind_named(":schema", std::string_view(sql::table_names::schema));
    s.bind_named(":version", sql::schema_version);
    s.bind_named(":now", std::int64_t{now.count()});
    s.bind_named(":epoch", std::int64_t{(file.wall_clock() - now).count()});
    s.bind_named(":boot", file.boot);
    s.bind_named(":tables", std::int64_t{sql::tables_id::made_of(file.names.prefix()).number()});
    code = s.step();
  }
  if (code == SQLITE_ROW) return s.integer(0);
  if (code == SQLITE_DONE) return std::nullopt;
  throw refused_statement{code, ::sqlite3_errmsg(connection.handle())};
}

/// A transaction, rolled back unless it is committed.
class transaction {
 public:
  transaction(lease_connection& in, const char* begin) : in_(in) { run_once(in, begin); }
  ~transaction() {
    if (::sqlite3_get_autocommit(in_.handle()) == 0)
      ::sqlite3_exec(in_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  void commit() { run_once(in_, "COMMIT"); }

 private:
  lease_connection& in_;
};

/// Whether the tables exist. It only reads, so that opening a file waits for no writer.
bool is_made(lease_connection& connection) try {
  return unfit_tables(connection).empty() && run_once(connection, R"(
SELECT 1
FROM {version}
WHERE name = :schema
  AND version = :version
  AND NOT migration
  AND EXISTS (SELECT 1 FROM {floor} WHERE {floor.id} = 1)
)");
} catch (const refused_statement&) {
  return false;  // the attempt to create the tables reports the reason
}

bool has_version_table(lease_connection& connection) {
  return run_once(connection,
                  fmt::format("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{}' COLLATE NOCASE",
                              connection.file().names.table("schema_version")))
      .has_value();
}

/// SQLite creates the tables in one transaction, so dlock never leaves them half made. A user who runs the statements
/// one by one may: this lets the missing ones be created as if nothing had begun.
void forget_begun(lease_connection& connection) {
  run_once(connection, "DELETE FROM {version} WHERE name = :schema AND migration AND version <= :version");
}

/// Reads the version of the tables, or none if there is no version table.
sql::written_version read_version(lease_connection& connection, bool there) {
  if (!there) return {};
  const auto read = [&](const char* column) {
    return run_once(connection, fmt::format("SELECT {} FROM {{version}} WHERE name = :schema", column)).value_or(0);
  };
  return {static_cast<std::uint64_t>(read("version")), read("migration") != 0};
}

/// Returns false if the tables exist already.
bool make_schema(lease_connection& connection) {
  lease_file& file = connection.file();
  if (is_made(connection)) return false;
  const bool create = file.schema == sql::schema_mode::create;
  patiently(connection, [&] {
    // A transaction that reads first can't write after another connection has written.
    transaction in(connection, create ? "BEGIN IMMEDIATE" : "BEGIN");
    const bool there = has_version_table(connection);
    if (there && create) forget_begun(connection);
    if (sql::must_make_tables(file.schema, file.names, file.settings.name, read_version(connection, there))) {
      for (const auto& each : sql::create_statements(schema_file, file.names, "INSERT OR IGNORE INTO"))
        run_once(connection, each);
    }
    if (const std::string why = unfit_tables(connection); !why.empty()) refuse_tables(file, why);
    if (create) {
      // Starts above all existing fences: if the row was lost, higher ones may have been granted and cleaned up.
      const auto above = std::to_string(there ? sql::above_lost_floor : 0);
      run_once(connection, sql::expand(file.names, R"(
INSERT INTO {floor} ({floor.id}, {floor.fence})
SELECT 1, COALESCE(MAX({lock.fence}), 0) + {above}
FROM {lock}
WHERE TRUE
ON CONFLICT DO NOTHING
)",
                                       {{"above", above}}));
    } else if (!run_once(connection, "SELECT 1 FROM {floor} WHERE {floor.id} = 1")) {
      refuse_unfit(fmt::format("SQLite file '{}': row 1 of table {} is missing; schema=create makes it",
                               file.settings.path, file.names.table("floor")));
    }
    in.commit();
  });
  return true;
}

// ---- other boots ----------------------------------------------------------------------------------------------------

// Handles what another boot of the host left in the file.
//
// All times in it are of CLOCK_BOOTTIME, which all processes of a kernel share and which starts anew with each boot. A
// different boot id proves nothing, because containers of one kernel may see different ids. A time in the future does:
// no process of this boot can have written it. If there is none, nothing is changed: whatever another boot left was
// written when its clock showed at most what it shows now, so its ttl is over soon. Row 2 of the floor table is a time
// that had come when it was written: that of the last session that was closed. A session's row says when it was renewed
// last.

constexpr const char* of_the_future = R"((
  EXISTS (SELECT 1 FROM {floor} WHERE {floor.id} = 2 AND {floor.fence} > :now)
  OR EXISTS (
    SELECT 1
    FROM {session}
    WHERE {session.boot} <> :boot
      AND {session.expires_at_us} - {session.ttl_us} > :now)))";

constexpr const char* free_the_dead[] = {
    // A living session of this boot has its expiry in (now, now + ttl].
    R"(
DELETE FROM {session}
WHERE {session.expires_at_us} <= :now
   OR {session.expires_at_us} > :now + {session.ttl_us}
)",
    // No process of this boot has been here before, because it would have changed what proves the reboot.
    R"(
UPDATE {lock}
SET
  {lock.session_id} = NULL,
  {lock.expires_at_us} = NULL
WHERE {lock.expires_at_us} IS NOT NULL
   OR {lock.session_id} NOT IN (SELECT {session.id} FROM {session})
)",
    // Otherwise clean-up would wait for a distant time.
    "UPDATE {lock} SET {lock.acquired_at_us} = :now WHERE {lock.acquired_at_us} > :now",
    "DELETE FROM {floor} WHERE {floor.id} IN (2, 3)",
};

// Row 3 is row_epoch(): added to this boot's clock it is about the wall clock's time, and it does not change until the
// next boot. So a row locked in place, which only its own application could find, expires after a reboot about when it
// would have without one. Row 4, the id of the lock tables, does not depend on the boot, but is made here too.
constexpr const char* add_rows =
    "INSERT INTO {floor} ({floor.id}, {floor.fence}) VALUES (2, :now), (3, :epoch), (4, :tables) ON CONFLICT DO "
    "NOTHING";
constexpr const char* lacks_rows = "(SELECT COUNT(*) FROM {floor} WHERE {floor.id} IN (2, 3, 4)) < 3";
static_assert(sql::tables_id::floor_row == 4);

/// Frees what was held in an earlier boot. What may be alive stays, whatever its boot id is.
void forget_other_boots(lease_connection& connection) {
  const auto future = std::string("SELECT 1 WHERE ") + of_the_future;
  patiently(connection, [&] {
    // Only reads, so that opening a file waits for no writer if there is nothing to do.
    if (!run_once(connection, future + " OR " + lacks_rows)) return;
    transaction in(connection, "BEGIN IMMEDIATE");
    // Checks again while no other process writes: what was written before is of the past, unless another boot wrote it.
    if (run_once(connection, future)) {
      for (const char* sql : free_the_dead) run_once(connection, sql);
    }
    run_once(connection, add_rows);
    in.commit();
  });
  patiently(connection, [&] {
    const auto epoch = run_once(connection, "SELECT {floor.fence} FROM {floor} WHERE {floor.id} = 3");
    connection.file().row_epoch(microseconds{epoch.value_or(0)});
    const auto tables = run_once(connection, "SELECT {floor.fence} FROM {floor} WHERE {floor.id} = 4");
    connection.file().row_sql.tables(sql::tables_id(static_cast<std::uint64_t>(tables.value_or(0))));
  });
}

}  // namespace

// A boot's clock begins anew, and that of rows stands still while the host is off, so marks are by the time of day.
sqlite_marks::sqlite_marks(std::shared_ptr<lease_file> file)
    : done_marks(file->names,
                 {.wall = ":wall",
                  .only_primary = "",
                  .lock_row = "",
                  .share_row = "",
                  .insert = "INSERT OR IGNORE INTO",
                  .nowhere = "",
                  .creates_inside = true},
                 done_file, file->schema == sql::schema_mode::create),
      file_(std::move(file)) {}

std::string sqlite_marks::literal(const sql::sql_value& value) const {
  if (const auto* const bytes = std::get_if<sql::sql_bytes>(&value))
    return row_literal(verification::bytes{std::string(bytes->value)});
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return row_literal(*number);
  if (const auto* const text = std::get_if<std::string_view>(&value)) return row_literal(std::string(*text));
  return "NULL";
}

sqlite_store::sqlite_store(const lease_settings& settings, std::shared_ptr<const sqlite_host> host)
    : file_(std::make_shared<lease_file>(settings, std::move(host))),
      shared_(file_->names,
              {.same_fence = "l.{lock.fence}",
               .lock_row = "",
               .share_row = "",
               // A change, because only a transaction that writes keeps other writers out of the file.
               .verify = "UPDATE {member} SET {member.verified_by} = {connection}, "
                         "{member.verifies} = {member.verifies} + 1 WHERE {mine}"},
              member_file, file_->schema == sql::schema_mode::create),
      waiters_(
          settings.path, settings.prefix, [this] { return file_->unfit_for_waking(); },
          [this](auto& keys, auto& sessions) { return poll_keys(keys, sessions); },
          [this](const std::string& why) { listeners_.waiters_poll(why); }) {
  marks_.ask(application_);
}

void sqlite_store::prepare() {
  check_system(*file_);
  const bool create = file_->schema == sql::schema_mode::create;
  check_location(*file_, create);
  fault why;
  const auto connection = std::make_unique<lease_connection>(file_);
  if (!connection->open(file_->settings.busy_timeout, create, why)) refuse(why);
  const bool made = make_schema(*connection);
  forget_other_boots(*connection);
  if (!made) return;
  marks_.make(*connection);
  shared_.make(*connection);
}

}  // namespace dlock::stores::sqlite::lease_table
