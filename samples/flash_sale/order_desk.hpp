// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// Serves one order. The only file of this sample that takes a lock.

#include <chrono>

#include <dlock/lease.hpp>
#include <dlock/lock_options.hpp>

#include "entities.hpp"
#include "shop.hpp"

namespace flash_sale {

/// Told how an order goes on; both calls are made while the product's lock is held.
class desk_listener {
 public:
  virtual ~desk_listener() = default;
  virtual void entered(const order& o, std::chrono::microseconds waited) = 0;
  virtual void answered(const order& o, outcome what) = 0;
};

struct desk_options {
  bool locked = true;               ///< false: to see what happens without locks
  dlock::lock_options lock{};       ///< how a product is locked
  std::chrono::microseconds think;  ///< how long the payment service takes
};

/// Not thread-safe.
class order_desk {
 public:
  order_desk(shop& books, desk_options options, desk_listener& listener)
      : shop_(books), options_(options), listener_(listener) {}

  /// May be called again for an order whose first call failed, or died with its process: it is booked once.
  /// Throws dlock::error, odb::exception, stale_write; the order is then not booked.
  void serve(const order& o);

 private:
  outcome sell(const order& o, const dlock::lease* held);

  shop& shop_;
  desk_options options_;
  desk_listener& listener_;
};

}  // namespace flash_sale
