// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/multi_lease.hpp"
#include "engine/core/blocking_calls.hpp"
#include "engine/core/transaction_calls.hpp"

namespace dlock::detail {

/// Gives public classes access to the grants behind them.
struct access {
  static lease make(std::shared_ptr<engine::grant> grant, bool entered_again, bool first) noexcept {
    return {std::move(grant), entered_again, first};
  }
  static multi_lease make(const lock_keys& keys, std::vector<lease> leases) { return {keys, std::move(leases)}; }
  /// Allocates what result() needs beforehand, so that nothing can fail once a key is held.
  static std::monostate room_for(const lock_key& /*key*/) noexcept { return {}; }
  static std::vector<lease> room_for(const lock_keys& keys) {
    std::vector<lease> room;
    room.reserve(keys.size());
    return room;
  }
  /// Returns what the caller gets. If the key was busy and there `must` be a lease, throws lock_timeout.
  static lease result(const lock_key& /*key*/, engine::acquired&& got, std::monostate /*room*/, bool must) {
    if (got.held != nullptr) return make(std::move(got.held), got.entered_again, got.first);
    if (must) throw lock_timeout(got.why_busy);
    return {};
  }
  static multi_lease result(const lock_keys& keys, engine::acquired_all&& got, std::vector<lease> room, bool must) {
    for (auto& each : got.held) room.push_back(make(std::move(each.held), each.entered_again, each.first));
    if (!room.empty()) return make(keys, std::move(room));
    if (must) throw lock_timeout(got.why_busy);
    return {};
  }
  /// How a try_ call waits: it makes one attempt, unless the caller set `wait`.
  static engine::lock_request::wait_mode of_a_try(const lock_options& options) noexcept {
    return {.once = !options.wait || options.wait->count() == 0, .tries = true};
  }
  static const std::shared_ptr<engine::grant>& grant_of(const lease& held) noexcept { return held.grant_; }
  static const std::shared_ptr<engine::service_core>& core_of(const lock_service& service) noexcept {
    return service.core_;
  }

  /// The lease is empty afterwards, and has no anchor.
  static std::shared_ptr<engine::grant> take_grant(lease& held) noexcept {
    if (held.first_) stand(held, nullptr);
    held.reentered_ = held.first_ = false;
    return std::exchange(held.grant_, nullptr);
  }
  /// Takes the grants of all leases, the last first.
  static void take_grants(multi_lease& held, std::vector<std::shared_ptr<engine::grant>>& into) {
    multi_lease mine = std::exchange(held, multi_lease{});
    for (auto at = mine.leases_.rbegin(); at != mine.leases_.rend(); ++at) into.push_back(take_grant(*at));
    mine.leases_.clear();
  }
  /// In a forked child, the token of a lease that belongs to the parent.
  static std::stop_token stopped_token() {
    std::stop_source stopped;
    stopped.request_stop();
    return stopped.get_token();
  }
  /// Sets the lease's anchor: see grant::anchor.
  static void stand(const lease& held, const void* at) noexcept {
    if (held.first_) held.grant_->anchor.store(at, std::memory_order_relaxed);
  }

  /// See engine::release_by(). The lease is empty afterwards, even after an exception. Throws lock_lost before it calls
  /// `free`. If the grant has other leases, throws std::logic_error, and the lease stays.
  static void release_by(lease& held, const std::function<bool()>& free) {
    const bool first = std::exchange(held.first_, false), again = std::exchange(held.reentered_, false);
    auto mine = std::exchange(held.grant_, nullptr);
    if (!engine::release_by(mine, free)) {
      held.grant_ = std::move(mine);
      held.first_ = first;
      held.reentered_ = again;
      throw std::logic_error("dlock: " + held.grant_->key.explain() +
                             " has other leases, or a transaction verified it");
    }
  }
};

}  // namespace dlock::detail
