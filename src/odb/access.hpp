// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "engine/engine.hpp"

namespace dlock::detail {

/// What dlock::odb sees of a lease and a service.
struct access {
  static const std::shared_ptr<grant>& grant_of(const lease& held) noexcept { return held.grant_; }
  static const std::shared_ptr<engine>& engine_of(const lock_service& of) noexcept { return of.engine_; }
  /// engine::release_by(): the lease is empty afterwards, whatever happens. Throws lock_lost before `free` is called. Other
  /// leases on the grant: throws std::logic_error, and the lease stays.
  static void release_by(lease& held, const std::function<bool()>& free) {
    auto one = std::exchange(held.grant_, nullptr);
    if (!one->home->release_by(*one, free)) {
      held.grant_ = std::move(one);
      throw std::logic_error("dlock: " + held.grant_->key.explain() +
                             " has other leases, or a transaction verified it");
    }
    held.reentered_ = false;
    held.first_ = false;
  }
};

}  // namespace dlock::detail
