// SPDX-License-Identifier: BSL-1.0
#pragma once

/// One process of many does a job, for as long as it can, and another one continues when it can't:
///
///   dlock::leader billing{locks, "billing", [&](dlock::leadership& term) {
///     while (!term.stop_requested()) bill_next(term.fencing_token());
///   }};
///
/// Each process makes such an object. One of them gets the key and runs its function; the others wait for the key.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>

#include "dlock/export.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_options.hpp"
#include "dlock/lock_service.hpp"

namespace DLOCK_EXPORT dlock {

/// One term of a leader, for its function. The lease is renewed as long as the function runs.
/// Thread safety: all functions from any thread, as long as the leader's function runs.
class leadership {
 public:
  leadership(const leadership&) = delete;
  leadership& operator=(const leadership&) = delete;

  /// Requested when the function must return: the lease is lost (docs/leader.md says after which losses another one
  /// may lead at once), resign(), leader::request_stop(), or lock_service::close().
  /// Callbacks run on the thread that requests it, which may be one of the service: keep them short.
  std::stop_token stop_token() const noexcept { return stop_.get_token(); }
  /// Whether the function must return. Reads the clock, so it shows a loss even before stop_token() is requested.
  bool stop_requested() const noexcept { return stop_.stop_requested() || held_.loss() != loss_reason::none; }
  /// Asks the function to return. Once it has, the key is free for the next leader.
  void resign() noexcept { stop_.request_stop(); }

  /// Greater than that of each leader before, unless the store has none: lease::fencing_token().
  std::uint64_t fencing_token() const { return held_.fencing_token(); }
  /// Errors: lock_lost, another one may lead by now.
  void ensure_held() const { held_.ensure_held(); }
  /// For verify() in a transaction, remaining(), loss().
  const lease& held() const noexcept { return held_; }

 private:
  friend class leader;
  explicit leadership(const lease& held) noexcept : held_(held) {}

  const lease& held_;
  std::stop_source stop_{};
};

/// An aggregate, owning. Validated when the leader is made.
struct leader_options {
  /// How the key is held: `ttl` is how long the key stays taken after a crash, `max_hold` the longest term, `min_hold`
  /// the shortest time between two terms' beginnings. A candidate waits without end, so `wait`, `cancel` and
  /// `retry.limit` must not be set. The service renews the lease, whatever its default is, so `renewal` must not be
  /// set to another value than automatic. Default: the service's.
  lock_options lock{};
  /// How long it does not campaign after a term, so that another candidate is next; and after an exception or an error
  /// of the store, when it doubles with each further one in a row. After a term of at least max_pause, which counts
  /// from the grant, the doubling begins anew. Default 1 s; 1 ms to 1 day.
  std::chrono::milliseconds pause{1'000};
  /// The longest such pause. Default 30 s; not below pause, at most 1 day.
  std::chrono::milliseconds max_pause{30'000};
  /// Gets each exception of the function, and each error of the store that ended a campaign. Called on the leader's
  /// thread, without the key; it must not throw (std::terminate). Default: none; the observer gets handler_failed or
  /// acquire_failed in any case.
  std::function<void(std::exception_ptr why)> failed{};
};

/// Campaigns on a thread of its own until it is destroyed. While it has the key, it runs the function. When the
/// function has returned or thrown, it frees the key, pauses, and campaigns again.
///
/// A function that does not return when it must is not interrupted: see docs/leader.md for what that means.
///
/// Precondition: the service outlives it. It is not destroyed by its own function (std::terminate).
/// Errors: those of the constructor alone. After a fork the child's copy does nothing.
/// Thread safety: all functions but the destructor from any thread, also inside the leader's function.
/// Cost: a campaign costs what lock_service::acquire() costs, and a term the renewal of its lease.
class leader {
 public:
  /// Errors: std::invalid_argument, a bad key or option, or no function; std::system_error, no thread.
  /// Cost: no statement on this thread.
  leader(lock_service& service, lock_key key, std::function<void(leadership& term)> lead, leader_options options = {});
  /// request_stop(), then waits until the function has returned and the key is free.
  ~leader();
  leader(const leader&) = delete;
  leader& operator=(const leader&) = delete;

  /// Whether the function runs, and need not return.
  bool leads() const noexcept;
  /// Ends the present term, if there is one, as leadership::resign() does; it campaigns again after `pause`.
  void resign() noexcept;
  /// Ends the present term and all campaigns. Waits for nothing.
  void request_stop() noexcept;

 private:
  class campaign;
  const std::unique_ptr<campaign> campaign_;
};

}  // namespace dlock
