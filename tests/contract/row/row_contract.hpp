// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a store must do with rows of the application's. The test cases are in contract/row; a test program
/// for a store links them (library dlock_row_contract) and defines make_row_fixture().

#include "contract/store/store_contract.hpp"
#include "dlock/store_interface/row_table.hpp"

namespace dlock::test {

/// What a table's primary key is made of. Its columns are called as the comments say.
enum class row_id_kind {
  integer,    ///< id BIGINT
  text,       ///< id: text of up to 60 characters of any language
  composite,  ///< region BIGINT, name: text, in this order
};

/// A table of the application's. Each has a column `payload` (integer, 0), and a column `version` (integer, 0).
struct row_shape {
  row_id_kind id = row_id_kind::integer;
  row_renewal renewal = row_renewal::session;
  bool owner_not_null = false;        ///< column: always
  bool fence_is_version = false;      ///< there is no other column to count grants in; column: always
  bool without_lock_columns = false;  ///< as it was before anybody thought of locks: add_columns() makes them
};

/// A connection of the application's, with another user's rights and settings than dlock's where the place has such.
class application {
 public:
  /// Any error of the database.
  struct failed : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  virtual ~application() = default;
  /// Rows changed (matched). Throws failed; a transaction stays as the database leaves it.
  virtual std::uint64_t run(const std::string& sql) = 0;
  /// The first column of the first row; empty: NULL, or there is no row.
  virtual std::optional<std::string> one(const std::string& sql) = 0;
  /// The first column of all rows.
  virtual std::vector<std::string> all(const std::string& sql) = 0;
  /// A transaction that may verify: on SQLite BEGIN IMMEDIATE.
  virtual void begin() = 0;
  void commit() { run("COMMIT"); }
  void rollback() { run("ROLLBACK"); }
};

/// Somewhere locks and tables of an application live together: empty when made, gone when destroyed.
class row_fixture : public store_fixture {
 public:
  /// A new table, empty, of a name of its own. All names as SQL text needs them, quoted.
  virtual std::shared_ptr<const row_table> make_table(const row_shape& shape) = 0;
  virtual std::unique_ptr<application> connect() = 0;

  /// A text as a literal.
  virtual std::string literal(const std::string& text) const = 0;
  /// What a program does that knows only owner, expiry and version: `update … set lock_owner=?, lock_expire_time=<now +
  /// seconds>, version=version+1 where <id> and (lock_owner='' or lock_expire_time<now)`.
  virtual std::string plain_take(const row_table& table, const std::string& condition, const std::string& owner,
                                 int seconds) const = 0;
  /// An expiry so many seconds from now (or before), as an expression for the column of such a table.
  virtual std::string plain_expiry(int seconds) const = 0;
  /// The same in microseconds, for the other tables.
  virtual std::string expiry(microseconds from_now) const = 0;

  /// The id of the lock tables, as owners have it; once a store was opened.
  virtual std::string tables_id() const { return "0000"; }
  /// A store with other lock tables on the same server (or in the same file). Null: there is no such thing.
  virtual std::shared_ptr<store> open_other_tables() { return nullptr; }
  /// Whether a transaction that verified lets others go on with other rows (SQLite: no).
  virtual bool locks_rows() const = 0;
};

/// Defined by the program of each store.
std::unique_ptr<row_fixture> make_row_fixture();

/// A place, a table in it with its rows, and a connection of the application's.
class row_scene {
 public:
  explicit row_scene(const row_shape& shape = {})
      : kind(shape.id), table(fixture->make_table(shape)), app(fixture->connect()) {}

  /// The key of an integer or text id; makes the row.
  lock_key make(std::int64_t id);
  lock_key make(const std::string& id);
  lock_key make(std::int64_t region, const std::string& name);
  /// Row number `i`, whatever the id is made of. Its text needs care in SQL.
  lock_key make_numbered(std::int64_t i);
  /// The key of a row, there or not.
  lock_key key(std::vector<row_value> id) const { return lock_key::of_row(table, std::move(id)); }
  lock_key numbered_key(std::int64_t i) const;

  /// A condition that names the row.
  std::string where(const lock_key& row) const;
  /// A column's value in the row; `column` quoted, as in row_table.
  std::string value(const std::string& column, const lock_key& row);
  std::uint64_t number(const std::string& column, const lock_key& row) { return std::stoull(value(column, row)); }
  std::string owner(const lock_key& row) { return value(table->owner, row); }
  /// Rows changed by `UPDATE <table> SET <what> WHERE <the row>`.
  std::uint64_t set(const std::string& assignments, const lock_key& row);

  const row_id_kind kind;
  std::unique_ptr<row_fixture> fixture = make_row_fixture();
  std::shared_ptr<const row_table> table;
  std::unique_ptr<application> app;

 private:
  void insert(const lock_key& row);
};

/// An actor in the place of a scene, which knows what it writes into rows.
class row_actor : public actor {
 public:
  explicit row_actor(row_scene& scene, microseconds session_ttl = for_long)
      : actor(*scene.fixture, session_ttl), tables(scene.fixture->tables_id()) {}

  std::string verify_text(resource_name row, std::uint64_t fence) const {
    return store->transactions()->verification_of(grant(row, fence)).text;
  }
  std::string release_text(resource_name row, std::uint64_t fence) const {
    return store->transactions()->release_of(grant(row, fence)).text;
  }
  /// "<session>/<tables><nonce>": what our last attempt writes.
  std::string text() const;

  const std::string tables;  ///< the id of its lock tables
};

/// What many test cases of rows begin with.
struct one_row_actor {
  row_scene s{};
  row_actor a{s};
};

struct two_row_actors : one_row_actor {
  row_actor b{s};
  const lock_key row = s.make(1);
};

}  // namespace dlock::test
