// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// How one lock is taken. An aggregate: use designated initialisers, `{.ttl = 30s, .wait = 2s}`.

#include "dlock/detail/cxx20.hpp"
//
#include <chrono>
#include <optional>
#include <stop_token>

namespace dlock {

/// Who keeps the lease alive.
enum class renewal {
  automatic,  ///< the service renews until release; nothing to do, one statement per ttl/3 for all locks together
  none,       ///< nobody: the lease ends `ttl` after it was asked for, whatever the holder does
  manual,     ///< the caller, by lease::renew(); otherwise as none
};

/// What happens when the current owner asks for a key that it holds already. Who that is: owner.hpp.
enum class reentry {
  /// A second lease on the same grant: same fence, no statement; only the outermost release frees the key. The options of
  /// the inner one hold as far as they can: ttl extends an expiry of its own and means nothing to a lease that is renewed,
  /// min_hold extends the outer one's. Another `renew`, or a max_hold that would end the outer lease earlier than its own,
  /// can't: std::invalid_argument.
  allow,
  refuse,  ///< throws lock_refused with errc::already_held
  busy,    ///< answers busy, as to a stranger: for throttles
};

/// Pauses between two looks at a busy key: pause, pause * multiplier, ... up to max_pause, each shortened by a
/// random part. A pause never runs past the end of the wait, nor past the moment the holder's lease can end.
struct retry_policy {
  /// First pause. Default 10 ms; > 0.
  std::chrono::milliseconds pause{10};
  /// Growth of each next pause. Default 2; 1 to 100.
  double multiplier = 2.0;
  /// Longest pause. Default 250 ms; not below pause.
  std::chrono::milliseconds max_pause{250};
  /// The random part, as a fraction of the pause. Default 0.5; 0 (none) to 1.
  double jitter = 0.5;
  /// Most retries after the first attempt; whichever of limit and wait ends first counts. Default none; 0: one attempt.
  std::optional<unsigned> limit{};
};

/// An owning type; cheap to copy. Validated at each call: std::invalid_argument names field and value.
struct lock_options {
  /// How long the server lets the lease live without renewal: after a crash the key is free within ttl. Default 30 s.
  /// With renewal::automatic at least 1 s, and the nearest of 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600 s
  /// that is not above it is used. Otherwise 10 ms to 30 days, exactly.
  std::chrono::milliseconds ttl{30'000};
  /// How long acquire() may block, all in all. Default 10 s; 0: one attempt; at most 365 days.
  std::chrono::milliseconds wait{10'000};
  /// Who renews. Default automatic.
  renewal renew = renewal::automatic;
  /// What asking again for a key one holds does. Default: allowed.
  reentry again = reentry::allow;
  /// Pauses between attempts while the key is busy.
  retry_policy retry{};
  /// The key stays taken at least this long after the grant, even if released earlier (a crash ends it).
  /// For jobs that may not run twice in a while. Default 0: off; at most 30 days.
  std::chrono::milliseconds min_hold{0};
  /// The lease is lost (reason max_hold) this long after the grant, whatever the holder does, and the key freed a
  /// service_options::margin later.
  /// Default 0: no cap; at most 365 days, not below min_hold.
  std::chrono::milliseconds max_hold{0};
  /// Ends the waiting with lock_refused (errc::cancelled) when requested; requested before the call, nothing is asked for.
  /// Default: never.
  std::stop_token cancel{};
};

/// Throws std::invalid_argument naming the first bad field and its value.
void validate(const lock_options& options);

/// The ttl that a kept lease really gets (see lock_options::ttl). Precondition: ttl >= 1 s.
std::chrono::milliseconds ttl_class(std::chrono::milliseconds ttl) noexcept;

}  // namespace dlock
