// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A store's functions for transactions of the application in the same database.

#include "dlock/export.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/verification.hpp"

namespace DLOCK_EXPORT dlock {

/// Thread safety: all functions may be called from any thread.
class transactional_store {
 public:
  virtual ~transactional_store() = default;

  /// The statement that proves, in a transaction of the application's, that a grant is still ours: it changes the lock
  /// row (so that a take-over waits for that transaction) if session and fence (rows: and nonce) are those given. The
  /// request's action is not looked at. With request::units it locks the row of that member (session and nonce) so that
  /// nobody deletes it before the end of that transaction.
  /// Cost: no I/O.
  virtual verification verification_of(const request& grant) const = 0;
  /// A statement that frees the key or row, for the application's transaction.
  /// Cost: no I/O.
  virtual verification release_of(const request& grant) const = 0;

  /// Finds the connection with an open transaction that verified the key. Returns yes and sets `out`, which terminate()
  /// could end, or no if none is visible.
  /// Cost: at most three statements.
  virtual reply blocker(connection& connection, const request& key, connection_identity& out) noexcept = 0;

  /// Whether the calling thread may wait for a lock now. Returns false and sets `why` if it would wait for itself: on
  /// SQLite, a thread with a write transaction open in the same file.
  /// Cost: no statement.
  virtual bool caller_may_wait(fault& why) const noexcept = 0;
};

}  // namespace dlock
