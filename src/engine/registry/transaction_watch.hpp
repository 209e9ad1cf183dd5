// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>

#include "dlock/export.hpp"
#include "dlock/store_interface/store.hpp"

namespace dlock::engine {

struct grant;

/// What the engine wants to know of transactions that the application has open. dlock::odb knows ODB's; a program
/// without it has none that could be known.
class transaction_watch {
 public:
  virtual ~transaction_watch() = default;
  /// Whether the calling thread is in a transaction of a database that the store's locks live in. Never throws.
  virtual bool open_here(store& store) noexcept = 0;
  /// Calls `ended` once that transaction has an outcome, on the thread that ends it. False: there is none, or no
  /// memory.
  virtual bool at_end(store& store, std::function<void()> ended) noexcept = 0;
  /// `which` was granted on the calling thread while that transaction was open: what the transaction reads may be
  /// older.
  virtual void granted_inside(const std::shared_ptr<grant>& /*which*/) noexcept {}
};

/// Set once, by dlock::odb when it is linked; never unset.
DLOCK_EXPORT void watch_transactions(transaction_watch& with) noexcept;
/// May be null.
transaction_watch* watched_transactions() noexcept;

}  // namespace dlock::engine
