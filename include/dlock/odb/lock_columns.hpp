// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The lock columns of a mapped class whose rows are locked in place. C++14: ODB's compiler reads it.
///
///   #pragma db object table("orders") optimistic
///   struct order {
///     #pragma db id
///     std::int32_t id;
///     std::string status;
///     dlock::lock_columns lock;                 // columns lock_owner, lock_expires_at_us, lock_fence
///     #pragma db version
///     std::uint32_t version;
///   };
///
/// The member is called `lock` and the version `version` (or lock_, version_). Both may be private.
/// dlock_odb_generate() maps the class and writes the ALTER TABLE that adds the columns to a table which exists
/// already.
///
/// The columns are read with the object and written only when it is persisted: no update of the object touches them.
/// Locking and releasing is done by dlock/odb/locked_row.hpp and dlock/odb/claim.hpp. Plain SQL may add rows without
/// naming them.

#include <cstdint>
#include <odb/core.hxx>
#include <odb/nullable.hxx>
#include <string>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// Rows that only programs with dlock lock. What the members say was true when the object was loaded.
///
/// A copy is that of another row, and free: an entity copied and persisted under a new id must not look held.
class lock_columns {
 public:
  lock_columns() = default;
  lock_columns(const lock_columns&) noexcept : lock_columns() {}
  lock_columns& operator=(const lock_columns&) noexcept { return *this; }
  ~lock_columns() = default;

  /// How often the row was locked: the fencing token of its last holder.
  std::uint64_t fence() const noexcept { return fence_; }
  bool held() const noexcept { return !owner_.null(); }

 private:
  friend class odb::access;

  odb::nullable<std::string> owner_;
  /// Microseconds by the database's clock. NULL: as long as the holder's session lives.
  odb::nullable<std::int64_t> expires_at_us_;
  std::uint64_t fence_ = 0;
};

/// Rows that programs which know nothing of dlock lock as well, by plain SQL on these columns:
///
///   UPDATE t SET lock_owner = 'me', lock_expire_time = now() + interval 30 second, version = version + 1
///    WHERE id = 42 AND (lock_owner = '' OR lock_expire_time < now());               -- 1 row: locked
///   UPDATE t SET lock_owner = '', lock_expire_time = now() WHERE id = 42 AND lock_owner = 'me';
///
/// The expiry column is what keeps such a lease, so it is renewed itself, every ttl/3. Up to 64 rows share a statement,
/// and on SQLite a transaction. A transaction that has the row locked delays it. The version column is the fence.
/// Columns lock_owner, lock_expire_time.
class expiring_lock_columns {
 public:
  expiring_lock_columns() = default;
  expiring_lock_columns(const expiring_lock_columns&) : expiring_lock_columns() {}
  expiring_lock_columns& operator=(const expiring_lock_columns&) noexcept { return *this; }
  ~expiring_lock_columns() = default;

  bool held() const noexcept { return !owner_.empty(); }

 private:
  friend class odb::access;

  std::string owner_;
  std::string expire_time_ = "2000-01-01 00:00:00";
};

// clang-format off
#ifdef ODB_COMPILER
#pragma db value(lock_columns)
#pragma db member(lock_columns::owner_) readonly mysql:type("VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin") sqlite:type("TEXT")
#pragma db member(lock_columns::expires_at_us_) readonly
#pragma db member(lock_columns::fence_) readonly default(0)

// The type as written here and nowhere else: TIMESTAMP columns of other classes are mapped as ever.
#pragma db map type("TIMESTAMP\\(0\\)") as("VARCHAR(30)") to("CAST((?) AS DATETIME)") from("CAST((?) AS CHAR(30))")
#pragma db value(expiring_lock_columns)
#pragma db member(expiring_lock_columns::owner_) readonly default("") mysql:type("VARCHAR(50)") sqlite:type("TEXT")
#pragma db member(expiring_lock_columns::expire_time_) readonly default("2000-01-01 00:00:00") mysql:type("TIMESTAMP(0)") sqlite:type("TEXT")
#endif
// clang-format on

}  // namespace dlock
