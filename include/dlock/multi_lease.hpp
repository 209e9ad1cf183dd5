// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The right to several keys, held together: what acquire_all({k1, k2, ...}) gives.
///
///   const auto both = locks.acquire_all({"wallet:7", "wallet:9"}, {.ttl = 30s, .wait = 2s});
///   const auto fence = both["wallet:9"].fencing_token();
///
/// It has a lease for each of its keys, in the order of the keys, and holds all of them or, after a loss, none that
/// should be trusted: the work was about all.

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_keys.hpp"

namespace DLOCK_EXPORT dlock {

/// Move-only. The destructor releases all, takes no longer than service_options::release_limit and never throws. It may
/// outlive the lock_service.
/// Precondition: it is not empty or moved-from. Otherwise ensure_held(), renew(), release() and verify() throw
/// std::logic_error.
/// Thread safety: const functions may be called from any thread; it may be moved to and released on another one.
/// Cost: no statement, where a function does not say otherwise.
class [[nodiscard]] multi_lease {
 public:
  using const_iterator = std::vector<lease>::const_iterator;

  multi_lease() noexcept = default;  ///< empty, as from try_acquire_all if a key is busy
  multi_lease(multi_lease&& other) noexcept;
  multi_lease& operator=(multi_lease&& other) noexcept;
  ~multi_lease();

  /// True until released, even if a lease has been lost; false for an empty one.
  explicit operator bool() const& noexcept { return !leases_.empty(); }
  // clang-format off
  explicit operator bool() const&& = delete;  // dlock: name the leases: if (auto held = ...); else they are gone in the body
  // clang-format on

  /// The leases, in the order of their keys. A key that was named twice has one.
  std::size_t size() const noexcept { return leases_.size(); }
  const_iterator begin() const& noexcept { return leases_.begin(); }
  const_iterator end() const& noexcept { return leases_.end(); }
  /// The lease on one key; end() if the key is not among them.
  const_iterator find(const lock_key& key) const& noexcept;
  /// Errors: std::out_of_range, the key is not among them.
  const lease& operator[](const lock_key& key) const&;
  // acquire_all({...})["a"]: the leases would be released before anybody could use what these give.
  const_iterator begin() const&& = delete;
  const_iterator end() const&& = delete;
  const_iterator find(const lock_key& key) const&& = delete;
  const lease& operator[](const lock_key& key) const&& = delete;

  /// How long all of them can be trusted without another renewal; 0: one is lost.
  std::chrono::microseconds remaining() const noexcept;
  /// Requested once one of them can't be trusted. Callbacks run on a service thread: keep them short.
  std::stop_token lost_token() const& noexcept;
  std::stop_token lost_token() const&& = delete;
  /// Why the first of those that are lost was lost; none while all are held.
  loss_reason loss() const noexcept;
  /// Checks that all of them can be trusted now.
  /// Errors: lock_lost, one of them can't.
  void ensure_held() const;
  /// lease::verify() of all of them, in an order that can't deadlock.
  /// Errors: as lease::verify().
  /// Cost: one statement for each.
  template <class Transaction>
  void verify(Transaction& in) const {
    detail::verify_in(in, *this);
  }

  /// lease::renew() of all, in the order of their keys, up to the first that throws.
  /// Precondition: as lease::renew().
  /// Errors: as lease::renew().
  /// Cost: one statement for each.
  void renew();
  /// lease::renew(ttl) of all.
  void renew(std::chrono::milliseconds ttl);
  /// Frees the keys, the last first; those that this owner held before just count down. It is empty afterwards, also if
  /// this throws.
  /// Errors: when all have been tried, lock_lost, one was not ours any more; else store_error, there was no answer for
  /// one, and the background goes on trying.
  /// Cost: one statement for all keys, one for each row.
  void release();

 private:
  friend struct detail::access;
  struct watch;
  multi_lease(const lock_keys& keys, std::vector<lease> leases);

  std::vector<lock_key> keys_{};  // as many as leases_
  std::vector<lease> leases_{};
  std::shared_ptr<watch> watch_{};
};

}  // namespace dlock
