// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>

#include "dlock/export.hpp"
#include "dlock/store_interface/store.hpp"

namespace dlock::engine {

struct grant;

/// The engine's queries about the application's open transactions. dlock::odb answers them for ODB's; without it no
/// transactions are known.
class transaction_watch {
 public:
  virtual ~transaction_watch() = default;
  /// Whether the calling thread is in a transaction of a database that contains the store's locks. Never throws.
  virtual bool open_here(store& store) noexcept = 0;
  /// Calls `ended` when that transaction ends, on the thread that ends it. Returns false if there is none, or memory
  /// ran out.
  virtual bool at_end(store& store, std::function<void()> ended) noexcept = 0;
  /// `which` was granted on the calling thread while that transaction was open, so what the transaction reads may be
  /// older.
  virtual void granted_inside(const std::shared_ptr<grant>& /*which*/) noexcept {}
};

/// Called once by dlock::odb when it is linked. It stays set.
DLOCK_EXPORT void watch_transactions(transaction_watch& with) noexcept;
/// May return null.
transaction_watch* watched_transactions() noexcept;

}  // namespace dlock::engine
