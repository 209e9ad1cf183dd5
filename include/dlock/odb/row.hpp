// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Keys that name a row of the application's, which is locked in place: by its own columns, without a row in the lock
/// table.
///
///   auto held = locks.acquire(dlock::row<order>(locks, db, 42), {.wait = 2s});
///
/// A row's key goes wherever a key goes, and mixes with others. dlock/odb/locked_row.hpp loads the row as well.

#include "dlock/odb/lockable.hpp"
//
#include <odb/database.hxx>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_service.hpp"

namespace DLOCK_EXPORT dlock {

namespace detail {
DLOCK_EXPORT std::shared_ptr<const row_table> table_of(lock_service& service, odb::database& db,
                                                       const row_class& entity);
DLOCK_EXPORT lock_key row_key(lock_service& service, odb::database& db, const row_class& entity,
                              std::vector<row_value> id);
/// Errors: std::invalid_argument, there is not one value for each column of the primary key.
DLOCK_EXPORT void check_values(const row_table& table, std::span<const row_value> id);
DLOCK_EXPORT std::string add_lock_columns(lock_service& service, odb::database& db, const row_class& entity);
}  // namespace detail

/// The key of the row of T with that id. It holds what is known of the table; it may outlive `db`. Ids are compared as
/// they are written: two texts that a collation takes for one row exclude each other, but are no re-entry.
/// Precondition: `db` leads to the database in which the service's locks live: the same server (SQLite: the same file).
/// Both are used by connections of dlock, so the lock user needs SELECT and UPDATE on the table.
/// Errors: std::invalid_argument, before any lock is taken: another database, a table without these columns, an empty
/// id; store_error, the database failed.
/// Thread safety: as `db`.
/// Cost: the first time for a class and a database at most three statements, afterwards none.
template <class T>
[[nodiscard]] lock_key row(lock_service& service, odb::database& db, const row_id_of<T>& id) {
  if constexpr (lockable<T>) {
    return detail::row_key(service, db, detail::row_class_of<T>(), detail::row_values(id));
  } else {
    return lock_key("never");  // the one sentence was said
  }
}

/// ALTER TABLE statements that add the lock columns to the table of T, which exists without them; not the version
/// column, which is ODB's own matter. dlock_odb_generate() writes the same into a file.
/// Cost: no statement.
template <class T>
[[nodiscard]] std::string add_lock_columns_sql(lock_service& service, odb::database& db) {
  if constexpr (detail::check_lockable<T>()) {
    return detail::add_lock_columns(service, db, detail::row_class_of<T>());
  } else {
    return {};
  }
}

}  // namespace dlock
