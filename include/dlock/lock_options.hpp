// SPDX-License-Identifier: BSL-1.0
#pragma once

/// How one lock is taken. Aggregates: use designated initialisers, `{.ttl = 30s, .wait = 2s}`.
///
/// A field that is not set is inherited, each by itself: a call's from service_options::defaults, and where those leave
/// it open, from the library, whose value is the default that each field names here. `{.wait = 0s}` changes the wait
/// alone.

#include "dlock/detail/cxx20.hpp"
//
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// What keeps the lease alive.
enum class renewal {
  automatic,  ///< the service renews until release; nothing to do, one statement per ttl/3 for all locks together
  none,       ///< nothing: the lease ends `ttl` after the request, whatever the holder does
  manual,     ///< the caller, by lease::renew(); otherwise as none
};

/// What happens when the current owner (owner.hpp) asks for a key that it holds already.
enum class reentry {
  /// A second lease on the same grant, with the same fence and without a statement; only the outermost release frees
  /// the key. The options of the inner lease count as far as they can: `ttl` extends the expiry of a lease that is not
  /// renewed (but not inside a transaction of this thread that verified the lease, which has its row locked), and
  /// min_hold extends the outer one's. Another `renewal`, or a max_hold that would end the outer lease earlier, is
  /// std::invalid_argument.
  allow,
  refuse,  ///< throws lock_refused with errc::already_held
  busy,    ///< answers busy, as to another owner: for throttles
};

/// In which order the processes that wait for a key get it. Threads of one process always get it in the order in which
/// they came.
enum class fairness {
  none,  ///< the first to ask after a release; none starves except on named_lock (docs/waiting.md)
  /// The order in which they began to wait: a call overtakes no process that waits, and a process that does not take
  /// the key within a second of its turn is passed over. On stores with capabilities::keeps_order, for calls that
  /// name one key: rows, and lists of keys, are std::invalid_argument. Callers with fairness::none overtake it. Costs
  /// each acquire and release a longer statement or, on SQLite, a look into a file, and no round trip while no process
  /// waits.
  fifo,
};

/// Who may hold a key at the same time. Use the constants and one_of().
struct lock_mode {
  static constexpr std::uint32_t unlimited = 0xFFFF'FFFF;

  std::uint32_t units = 0;    ///< that a holder takes; 0: exclusive
  std::uint32_t permits = 0;  ///< how many units there are; unlimited: shared

  friend constexpr bool operator==(const lock_mode&, const lock_mode&) = default;
};

/// One holder, and nobody beside it.
inline constexpr lock_mode exclusive{};
/// A reader: any number of them, but none beside an exclusive holder. A caller that waits for the exclusive lock stops
/// new readers, in all processes.
inline constexpr lock_mode shared{.units = 1, .permits = lock_mode::unlimited};
/// A semaphore: `units` of `permits` for each holder (1 to permits, at most 1,000,000), and none beside an exclusive
/// holder. Each caller is held to the number that it names. Each process that reads the key counts as one unit.
constexpr lock_mode one_of(std::uint32_t permits, std::uint32_t units = 1) noexcept { return {units, permits}; }

/// For lock_options::wait: practically no limit (100 years). Cancel it by lock_options::cancel or close().
inline constexpr std::chrono::milliseconds wait_forever = std::chrono::hours{24 * 36'525};

/// A time that may be left open.
struct optional_time : std::optional<std::chrono::milliseconds> {
  using std::optional<std::chrono::milliseconds>::optional;
  constexpr optional_time(const std::optional<std::chrono::milliseconds>& time) noexcept : optional(time) {}
  template <class T>
  requires std::convertible_to<T&&, optional_time>
  constexpr optional_time& operator=(T&& time) { return *this = optional_time(std::forward<T>(time)); }
  // clang-format off
  template <class T>
  requires(!std::convertible_to<T&&, optional_time>)
  optional_time& operator=(T&&) = delete;  // dlock: a time has a unit and is whole milliseconds: options.ttl = 30s;
  // clang-format on
};

/// Pauses between two polls of a busy key: pause, pause * multiplier, ... up to max_pause, each shortened by a
/// random part. A pause never runs past the end of the wait, nor past the moment the holder's lease can end.
/// Where a release notifies the waiter (docs/waiting.md), only `limit` counts: with it the waiter polls all the same.
struct retry_policy {
  /// First pause. Default 10 ms; 1 ms to 1 day.
  optional_time pause{};
  /// Growth of each next pause. Default 2; 1 to 100.
  std::optional<double> multiplier{};
  /// Longest pause. Default 250 ms; not below pause, at most 1 day.
  optional_time max_pause{};
  /// The random part, as a fraction of the pause. Default 0.5; 0 (none) to 1.
  std::optional<double> jitter{};
  /// Most retries after the first attempt; whichever of limit and wait ends first counts. An attempt that a
  /// notification causes is no retry. Default: no limit (also UINT_MAX). 0 means one attempt.
  /// Must not be set with fairness::fifo, because such a call polls and has no place in the order.
  std::optional<unsigned> limit{};
};

/// An owning type; cheap to copy. Validated at each call, when inherited values are known.
/// Errors: std::invalid_argument, naming field and value.
struct lock_options {
  /// How long the server lets the lease live without renewal: after a crash the key is free within ttl. Default 30 s.
  /// With renewal::automatic 1 s to 24 h, and the nearest of 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600 s
  /// that is not above it is used. Otherwise 10 ms to 30 days, exactly.
  optional_time ttl{};
  /// How long the call may wait for the key in total. Default 10 s; 0: one attempt; at most 365 days, or
  /// wait_forever. Calls that try (try_acquire() and all that have "try" or "skip" in their names) inherit no wait:
  /// unless it is set in the call, they make one attempt.
  optional_time wait{};
  /// What renews the lease. Default automatic.
  std::optional<dlock::renewal> renewal{};
  /// How a call treats a key that its owner already holds. Default: allowed.
  std::optional<dlock::reentry> reentry{};
  /// Pauses between attempts while the key is busy.
  retry_policy retry{};
  /// The key stays taken at least this long after the grant, even if released earlier (a crash ends it).
  /// For jobs that may not run twice in a while. Default 0: off; at most 30 days.
  optional_time min_hold{};
  /// The lease is lost (reason max_hold) this long after the grant, whatever the holder does, and the key freed a
  /// service_options::margin later. Default 0: no cap; at most 365 days, not below min_hold.
  optional_time max_hold{};
  /// The order in which processes that wait get the key. Default fairness::none.
  std::optional<dlock::fairness> fairness{};
  /// After an orderly release the process keeps the key for so long, and its next acquire of the key costs no
  /// statement, at most 1 s in a row. If another process waits for the key, it gets it at once, or at the release if
  /// the key is held then. Meanwhile the key counts as held, also if the process crashes or stops: then it is free
  /// after the ttl. Default 0: off; at most ttl. Needs renewal::automatic and fairness::none; not with min_hold. For
  /// keys, on stores with capabilities::lingers (docs/lingering.md).
  optional_time linger{};
  /// Ends the waiting with lock_refused (errc::cancelled) when requested; if requested before the call,
  /// nothing is sent. Default: an empty token, never cancelled.
  std::optional<std::stop_token> cancel{};
  /// Who may hold the key at the same time: exclusive, shared or one_of(n); see docs/shared.md. Only a call sets it:
  /// service_options::defaults must not. The other modes are for keys with renewal::automatic on stores with
  /// capabilities::shares, without min_hold, linger and fairness::fifo. An owner that holds the key in another mode
  /// gets lock_deadlock if it asks for it exclusively. Default exclusive.
  std::optional<lock_mode> mode{};
};

/// Checks every field; one that is not set counts as the library's default.
/// Errors: std::invalid_argument, naming the first bad field and its value.
DLOCK_EXPORT void validate(const lock_options& options);

/// The ttl that a kept lease really gets (see lock_options::ttl).
/// Precondition: ttl >= 1 s.
DLOCK_EXPORT std::chrono::milliseconds ttl_class(std::chrono::milliseconds ttl) noexcept;

}  // namespace dlock
