// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Serves one order. The only file of this sample that takes a lock.

#include <chrono>
#include <functional>

#include <dlock/lock_options.hpp>

#include "entities.hpp"
#include "shop.hpp"

namespace flash_sale {

struct sale_rules {
  bool locked = true;                 ///< false: to see what happens without locks
  dlock::lock_options lock{};         ///< how a product is locked
  std::chrono::microseconds think{};  ///< how long the payment service takes
};

/// May be called again for an order whose first call failed, or died with its process: it is booked once. `begun` is
/// called under the lock, before anything else. Throws dlock::error, odb::exception, stale_write; the order is then not
/// booked.
outcome serve(shop& books, const order& o, const sale_rules& rules, const std::function<void()>& begun);

}  // namespace flash_sale
