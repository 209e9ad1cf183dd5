// SPDX-License-Identifier: BSL-1.0

/// What another boot of the host left in the file.
///
/// All times in it are of CLOCK_BOOTTIME, which all processes of a kernel share and which starts anew with each boot.
/// That another boot id was written proves nothing: containers of one kernel may see different ids. A time that
/// is still to come does: no process of this boot can have written it. Where there is none, nothing is touched:
/// whatever another boot left was written when its clock showed what it shows now, or less, so its ttl is over soon.

#include "stores/sql/scoped_transaction.hpp"
#include "stores/sqlite/lease_table/prepare.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

// Row 2 of the floor table is a time that had come when it was written: that of the last session that was closed.
// A session's row says when it was renewed last.
constexpr const char* of_the_future = R"((
  EXISTS (SELECT 1 FROM {floor} WHERE {floor.id} = 2 AND {floor.fence} > :now)
  OR EXISTS (
    SELECT 1
    FROM {session}
    WHERE {session.boot} <> :boot
      AND {session.expires_at_us} - {session.ttl_us} > :now)))";

constexpr const char* free_the_dead[] = {
    // A session of this boot that lives has its expiry in (now, now + ttl].
    R"(
DELETE FROM {session}
WHERE {session.expires_at_us} <= :now
   OR {session.expires_at_us} > :now + {session.ttl_us}
)",
    // No process of this boot has been here before: it would have found and changed what proves the reboot.
    R"(
UPDATE {lock}
SET
  {lock.session_id} = NULL,
  {lock.expires_at_us} = NULL
WHERE {lock.expires_at_us} IS NOT NULL
   OR {lock.session_id} NOT IN (SELECT {session.id} FROM {session})
)",
    // Else clean-up would wait for a time that is far off.
    "UPDATE {lock} SET {lock.acquired_at_us} = :now WHERE {lock.acquired_at_us} > :now",
    "DELETE FROM {floor} WHERE {floor.id} IN (2, 3)",
};

// Row 3 is what row_epoch() is: added to this boot's clock it is about the wall clock's time, and it stays what it is
// until the next boot. So the expiry of a row locked in place, which only its own application could find, ends after a
// reboot about when it would have ended without. Row 4, the id of the lock tables, is no matter of boots, but is made
// here too.
constexpr const char* add_rows =
    "INSERT INTO {floor} ({floor.id}, {floor.fence}) VALUES (2, :now), (3, :epoch), (4, :tables) ON CONFLICT DO "
    "NOTHING";
constexpr const char* lacks_rows = "(SELECT COUNT(*) FROM {floor} WHERE {floor.id} IN (2, 3, 4)) < 3";
static_assert(sql::tables_id::floor_row == 4);

/// Statements that run once.
class statements {
 public:
  explicit statements(lease_connection& connection) : connection_(connection), names_(connection.file().names) {
    names_.add_text("of_the_future", names_.expand(of_the_future));
    names_.add_text("lacks_rows", names_.expand(lacks_rows));
  }

  /// Whether a row came back; found() is its first column. Throws what ODB throws.
  bool run(std::string_view sql) {
    lease_file& file = connection_.file();
    const std::int64_t now = file.now();
    const microseconds epoch = file.wall_clock() - microseconds{now};
    sqlite_statement s;
    int code = s.prepare(connection_.handle(), names_.expand(sql));
    if (code == SQLITE_OK) {
      s.bind_named(":now", now);
      s.bind_named(":boot", file.boot);
      s.bind_named(":epoch", std::int64_t{epoch.count()});
      s.bind_named(":tables", std::int64_t{sql::tables_id::made_of(file.names.prefix()).number()});
      code = s.step();
      if (code == SQLITE_ROW) found_ = s.integer(0);
    }
    if (code == SQLITE_ROW || code == SQLITE_DONE) return code == SQLITE_ROW;
    throw odb::sqlite::database_exception(code & 0xff, code, ::sqlite3_errmsg(connection_.handle()));
  }
  std::int64_t found() const noexcept { return found_; }

 private:
  lease_connection& connection_;
  sql::table_names names_;
  std::int64_t found_ = 0;
};

}  // namespace

void forget_other_boots(lease_connection& connection) {
  statements file(connection);
  patiently(connection, [&] {
    // By reading: where there is nothing to do, opening a file waits for no writer.
    if (!file.run("SELECT 1 WHERE {of_the_future} OR {lacks_rows}")) return;
    connection.odb().writes = true;
    sql::scoped_transaction scope(connection.odb());
    // Again, now that no other process writes: what was written before is of the past, unless another boot wrote it.
    if (file.run("SELECT 1 WHERE {of_the_future}")) {
      for (const char* sql : free_the_dead) file.run(sql);
    }
    file.run(add_rows);
    scope.commit();
  });
  connection.odb().writes = false;
  patiently(connection, [&] { file.run("SELECT {floor.fence} FROM {floor} WHERE {floor.id} = 3"); });
  connection.file().row_epoch(microseconds{file.found()});
  patiently(connection, [&] { file.run("SELECT {floor.fence} FROM {floor} WHERE {floor.id} = 4"); });
  connection.file().tables(sql::tables_id(static_cast<std::uint64_t>(file.found())));
}

}  // namespace dlock::stores::sqlite::lease_table
