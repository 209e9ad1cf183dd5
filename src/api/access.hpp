// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "engine/blocking_calls.hpp"

namespace dlock::detail {

/// Between the faces, which users see, and the grants behind them.
struct access {
  static lease make(std::shared_ptr<engine::grant> of, bool entered_again, bool first) noexcept {
    return {std::move(of), entered_again, first};
  }
  static multi_lease make(const lock_keys& keys, std::vector<lease> leases) { return {keys, std::move(leases)}; }
  static const std::shared_ptr<engine::grant>& grant_of(const lease& held) noexcept { return held.grant_; }
  static const std::shared_ptr<engine::service_core>& core_of(const lock_service& of) noexcept { return of.core_; }

  /// The lease is empty afterwards, and stands nowhere.
  static std::shared_ptr<engine::grant> take_grant(lease& held) noexcept {
    if (held.first_) stand(held, nullptr);
    held.reentered_ = held.first_ = false;
    return std::exchange(held.grant_, nullptr);
  }
  /// It stands at that place: see grant::anchor.
  static void stand(const lease& held, const void* at) noexcept {
    if (held.first_) held.grant_->anchor.store(at, std::memory_order_relaxed);
  }

  /// engine::release_by(): the lease is empty afterwards, whatever happens. Throws lock_lost before `free` is called. Other
  /// leases on the grant: throws std::logic_error, and the lease stays.
  static void release_by(lease& held, const std::function<bool()>& free) {
    auto mine = std::exchange(held.grant_, nullptr);
    if (!engine::release_by(mine, free)) {
      held.grant_ = std::move(mine);
      throw std::logic_error("dlock: " + held.grant_->key.explain() +
                             " has other leases, or a transaction verified it");
    }
    held.reentered_ = held.first_ = false;
  }
};

}  // namespace dlock::detail
