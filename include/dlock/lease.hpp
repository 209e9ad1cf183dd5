// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The right that a caller holds.
///
///            acquire                    release(), destructor
///   (empty) ---------> held --------------------------------> released
///                       |  renewal refused, local deadline passed, max_hold, ...
///                       +----------------------------------------------> lost        never back

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>

#include "dlock/error.hpp"
#include "dlock/export.hpp"
#include "dlock/store_interface/verification.hpp"

namespace dlock::engine {
struct grant;
class service_core;
}  // namespace dlock::engine

namespace DLOCK_EXPORT dlock {

namespace detail {
struct access;

/// Finds verify(in, held) of the library that `in` belongs to.
template <class Transaction, class Lease>
void verify_in(Transaction& in, const Lease& held) {
  static_assert(
      requires { verify(in, held); },
      "dlock: verify() takes an odb::transaction or an odb::connection: include <dlock/odb/verify.hpp> and link "
      "dlock::odb; for other client libraries use lease::verification()");
  verify(in, held);
}
}  // namespace detail

/// Move-only. The destructor releases, takes no longer than service_options::release_limit and never throws. As a local
/// object a lease lets nested calls of its thread enter the key again; anywhere else it keeps them out (owner.hpp). It
/// may outlive the lock_service.
/// Of an empty or moved-from lease key() is empty, fencing_token() and remaining() are 0, and loss() is none;
/// ensure_held(), renew(), release(), verify() and verification() throw std::logic_error.
/// Thread safety: const functions may be called from any thread; a lease may be moved to and released on another one.
/// Cost: no statement, where a function does not say otherwise.
class [[nodiscard]] lease {
 public:
  lease() noexcept = default;  ///< empty, as from try_acquire for a busy key
  lease(lease&& other) noexcept;
  /// Takes over `other`, and then releases what it held before, as the destructor does. So after
  /// `held = locks.acquire("b")` both keys were held for a moment.
  lease& operator=(lease&& other) noexcept;
  ~lease();

  /// True until released, even if the lease has been lost; false for an empty one.
  ///   if (const auto held = locks.try_acquire("k")) { ... }  // the lease lives until the end of the if
  explicit operator bool() const& noexcept { return grant_ != nullptr; }
  // clang-format off
  explicit operator bool() const&& = delete;  // dlock: name the lease: if (auto held = ...); else it is gone in the body
  // clang-format on

  std::string_view key() const& noexcept;
  std::string_view key() const&& = delete;  ///< acquire("k").key(): the lease would be gone with what this shows
  /// +1 at every grant of the key (a scheme with another counter may grow faster), unchanged by re-entry and renewal.
  /// Hand it to whatever the lock protects, which must refuse a smaller one.
  /// Errors: std::logic_error, the store's table has no such number (docs/stores.md): an invented one could go back.
  std::uint64_t fencing_token() const;
  /// How long it can be trusted without another renewal; 0: lost. A lower bound of what the server would say.
  std::chrono::microseconds remaining() const noexcept;
  /// Whether this is a second lease on a grant that its owner held already.
  bool reentered() const noexcept { return reentered_; }

  /// Requested once the lease can't be trusted: before the server could give the key to another, when the client's
  /// clock and threads run. Callbacks run on a service thread: keep them short.
  /// Cost: the first call allocates.
  std::stop_token lost_token() const&;
  std::stop_token lost_token() const&& = delete;  ///< acquire("k").lost_token(): the lease would be released at once
  /// Why it was lost; none while held. Reads the clock, so it shows a loss at once, even before lost_token() is
  /// requested.
  loss_reason loss() const noexcept;
  /// Checks that the lease can be trusted now.
  /// Errors: lock_lost, it can't.
  void ensure_held() const;

  /// Proves inside a transaction of the application's that the lease is ours, and keeps all others from being granted
  /// the key until that transaction ends: what it writes can't come too late. For a reader or a permit the others are
  /// those that it excludes: writers, and holders of more permits than remain. `in`: an odb::transaction or
  /// odb::connection, see dlock/odb/verify.hpp.
  /// Errors: lock_lost, store_error; then the transaction has been rolled back.
  /// Cost: one statement, on the transaction's connection.
  template <class Transaction>
  void verify(Transaction& in) const {
    detail::verify_in(in, *this);
  }
  /// The same as a value, for other client libraries: see verification.hpp.
  /// Errors: lock_lost, the lease can't be trusted now; std::logic_error, its store can't verify (memory).
  dlock::verification verification() const&;
  dlock::verification verification() const&& = delete;

  /// Sets the expiry to now + ttl of its options, if the lease is still ours.
  /// Precondition: renewal::manual, and no open transaction of this thread has verified the lease and so locked its
  /// row; std::logic_error otherwise.
  /// Errors: lock_lost; store_error.
  /// Cost: one statement.
  void renew();
  /// The same with now + `ttl`, this once: 10 ms (5 s for rows with expiring_lock_columns) to 30 days. An expiry that
  /// is later stays: it is only ever extended.
  /// Errors: as renew(); std::invalid_argument, a ttl out of that range.
  void renew(std::chrono::milliseconds ttl);
  /// Turns this exclusive lease into a shared one (lock_options::mode), so that no other owner has the key exclusively
  /// in between. Readers that wait are granted the key then. The fencing token stays, and so do max_hold and the tokens
  /// of lost_token(). To the observer the exclusive lease is released, and a shared one granted.
  /// Precondition: it is the only lease of its grant (no re-entry), kept by its session (renewal::automatic), without
  /// min_hold, linger and fairness::fifo, and no transaction is open that must end first. std::logic_error otherwise.
  /// Errors: std::invalid_argument, the key is a row, or the store can't (capabilities::any_mode): it stays.
  /// lock_lost; store_error, there was no answer in service_options::release_limit. Then the lease is empty, and the
  /// background frees the key.
  /// Cost: two statements (Redis: one).
  void downgrade();
  /// Frees the key if this is the outermost lease of its grant. The lease is empty afterwards, also if this throws.
  /// Errors: lock_lost, it was not ours any more; store_error, there was no answer, and the background goes on trying.
  /// Cost: one statement; none for an inner lease.
  void release();

 private:
  friend struct detail::access;
  lease(std::shared_ptr<engine::grant> grant, bool again, bool first) noexcept;
  std::shared_ptr<engine::grant> grant_;
  bool reentered_ = false;
  bool first_ = false;  // where it stands decides who may enter again
};

}  // namespace dlock
