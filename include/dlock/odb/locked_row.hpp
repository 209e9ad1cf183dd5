// SPDX-License-Identifier: BSL-1.0
#pragma once

/// An entity that is reached only through the lock on its row: what lock_row.hpp and claim.hpp give.
///
///   auto row = dlock::lock_row<order>(locks, db, 42, {.wait = 2s});   // waits, locks, loads
///   row->status = "shipped";
///   row.commit();                                              // writes and unlocks, in one transaction
///
/// A grant raises the row's version: copies that anybody loaded before can't be written any more (odb::object_changed),
/// the one loaded here can. Renewal changes nothing of the row (but for expiring_lock_columns, its expiry).
///
/// Everything here runs in separate transactions, on connections that `db` gives. A transaction that the caller has
/// open stays the current one and is not used: what it did to the row is not seen before it commits, and update() and
/// commit() wait for it. To write in the caller's transaction, use update(transaction). A current odb::session is not
/// used either.

#include "dlock/odb/row.hpp"
//
#include <odb/database.hxx>
#include <odb/transaction.hxx>

#include <functional>
#include <memory>
#include <utility>

#include "dlock/export.hpp"
#include "dlock/lease.hpp"
#include "dlock/odb/detail/entity_members.hpp"

namespace DLOCK_EXPORT dlock {

namespace detail {
/// Runs it in a separate transaction, which only reads.
DLOCK_EXPORT void read_rows(lock_service& service, odb::database& db, const std::function<void()>& read);

/// How an entity is written. ODB raises its version in memory at once, not at the commit.
struct entity_write {
  std::function<void()> write{};    ///< in the current transaction
  std::function<void()> restore{};  ///< the version, where that transaction was not committed; at any later time
};
template <class T>
entity_write write_of(odb::database& db, const std::shared_ptr<T>& entity) {
  return {[&db, entity] { db.update(*entity); },
          [entity, before = entity_version(*entity)] {
            auto& now = entity_version(*entity);
            // Of several writes in one transaction the first had the least.
            if (before < now) now = before;
          }};
}
/// Writes, and releases, or keeps the lock, in one transaction that fails unless the row is ours.
DLOCK_EXPORT void commit_row(odb::database& db, lease held, const entity_write& write);
DLOCK_EXPORT void update_row(odb::database& db, const lease& held, const entity_write& write);
DLOCK_EXPORT void update_row(odb::transaction& in, const lease& held, const entity_write& write);
DLOCK_EXPORT [[noreturn]] void empty_row(const char* call);
struct row_maker;
}  // namespace detail

/// Move-only. The destructor releases the lock and writes nothing.
/// Precondition: it is not empty. Otherwise everything but bool and held() throws std::logic_error.
/// Thread safety: as std::unique_ptr.
template <class T>
class [[nodiscard]] locked_row {
 public:
  /// Empty, as from try_lock_row for a busy row, after commit() and release(), or moved from.
  locked_row() noexcept = default;

  /// Whether it holds the lock, or lost it meanwhile.
  explicit operator bool() const& noexcept { return static_cast<bool>(held_); }
  // clang-format off
  explicit operator bool() const&& = delete;  // dlock: name the row: if (auto row = ...); else it is unlocked in the body
  // clang-format on

  /// The entity as it was loaded after the grant. Whether the lock is still held is not looked at: that is done by
  /// commit() and update(), and by held().ensure_held().
  T& operator*() { return must("operator*"); }
  const T& operator*() const { return must("operator*"); }
  T* operator->() { return &must("operator->"); }
  const T* operator->() const { return &must("operator->"); }

  /// The lease on the row.
  const lease& held() const noexcept { return held_; }

  /// Writes the entity and frees the row. Nothing is written unless the row is ours. It is empty afterwards in each
  /// case. As an inner lock (lease::reentered(), or while one is open) it writes, and the outer one stays. A deadlock,
  /// or SQLite being busy, is tried again for a while.
  /// Errors: lock_lost; odb::object_changed, a program wrote the row without a lock; whatever ODB throws; then nothing
  /// is written. store_error (outcome_unknown), the connection broke at the commit: it may be written or not.
  /// Cost: BEGIN, two statements, COMMIT.
  void commit() {
    must("commit()");
    const auto entity = std::move(entity_);
    auto* const db = std::exchange(db_, nullptr);
    detail::commit_row(*db, std::move(held_), detail::write_of(*db, entity));
  }

  /// Writes the entity and keeps the lock. It may be called again after it threw. After an unknown outcome the entity
  /// has the version from before: a second call writes it if the first did not, and throws odb::object_changed if it
  /// did (then lock the row anew).
  /// Errors: as commit().
  /// Cost: as commit().
  void update() {
    must("update()");
    detail::update_row(*db_, held_, detail::write_of(*db_, entity_));
  }
  /// Writes in a transaction of the caller's on the same database, which is rolled back if this throws. The lock, if it
  /// ends before the transaction, is released after its outcome. If that is no commit, the entity gets its version from
  /// before back.
  /// Precondition: the transaction is open; std::logic_error otherwise.
  /// Errors: as verify(); odb::object_changed; whatever ODB throws.
  /// Cost: two statements.
  void update(odb::transaction& in) {
    must("update()");
    detail::update_row(in, held_, detail::write_of(*db_, entity_));
  }

  /// Frees the row without writing it. It is empty afterwards.
  /// Errors: as lease::release().
  /// Cost: one statement.
  void release() {
    if (!held_) detail::empty_row("release()");
    entity_.reset();
    auto mine = std::move(held_);
    mine.release();
  }

 private:
  friend struct detail::row_maker;
  locked_row(odb::database& db, lease held, std::shared_ptr<T> entity)
      : db_(&db), held_(std::move(held)), entity_(std::move(entity)) {}

  T& must(const char* call) const {
    if (entity_ == nullptr) detail::empty_row(call);
    return *entity_;
  }

  odb::database* db_ = nullptr;
  lease held_{};
  std::shared_ptr<T> entity_{};
};

namespace detail {
struct row_maker {
  template <class T>
  static locked_row<T> make(odb::database& db, lease held, std::shared_ptr<T> entity) {
    return {db, std::move(held), std::move(entity)};
  }
  template <class T>
  static locked_row<T> load(lock_service& service, odb::database& db, const row_id_of<T>& id, lease held) {
    std::shared_ptr<T> entity;
    if constexpr (lockable<T>) {
      if (!held) return {};
      read_rows(service, db, [&] { entity = std::shared_ptr<T>(db.load<T>(id)); });
    }
    return make(db, std::move(held), std::move(entity));
  }
};
}  // namespace detail

}  // namespace dlock
