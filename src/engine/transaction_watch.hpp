// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <string>

#include "dlock/store.hpp"

namespace dlock::detail {

/// What the engine wants to know of transactions that the application has open. dlock::odb knows ODB's; a program without
/// it has none that could be known.
class transaction_watch {
 public:
  virtual ~transaction_watch() = default;
  /// Whether the calling thread is in a transaction of a database that the store's locks live in. Never throws.
  virtual bool open_here(const store& where) noexcept = 0;
  /// Calls `ended` once that transaction has an outcome, on the thread that ends it. False: there is none, or no memory.
  virtual bool at_end(const store& where, std::function<void()> ended) noexcept = 0;
};

/// Set once, by dlock::odb when it is linked; never unset.
void watch_transactions(transaction_watch& with) noexcept;
/// May be null.
transaction_watch* watched_transactions() noexcept;

}  // namespace dlock::detail
