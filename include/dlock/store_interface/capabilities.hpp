// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a store can do. Only authors of stores need it.

#include <cstdint>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// The ways in which a call learns that a busy key may be free. Where other programs lock and free the same keys
/// unknown to the store, a waiter that was notified asks at once, and polls on with the pauses of retry_policy.
enum class waiting : std::uint8_t {
  /// It polls.
  polls,
  /// It polls, but a release with request::wake wakes waiters of other processes.
  polls_and_wakes,
  /// store::watch(): the store notifies all waiters of a key, or the next one, when the key may be free.
  notified,
  /// `notified`, while other programs use the same keys. A call watches only a key that it has found held.
  notified_beside_others,
  /// store::watch() registers a waiter at the server, which costs statements, and a release with request::wake wakes
  /// the
  /// first one. So a waiter polls first, and watches a key that it finds held for longer.
  woken,
  /// `woken`, while other programs use the same keys.
  woken_beside_others,
};

/// What a store supports, which never changes during its life. A call that needs something else is refused, with the
/// store's name.
struct capabilities {
  bool session_leases = true;   ///< lease_kind::session
  bool expiring_leases = true;  ///< lease_kind::expiring
  bool rows = false;            ///< rows of the application's tables, and lease_kind::column on them
  bool batch = true;            ///< several requests of one verb in one statement; otherwise they are sent one by one
  bool renewed_leases =
      false;          ///< lease_kind::column of keys: each has an expiry, which the service renews by `extend`
  bool fence = true;  ///< a grant's fence is greater than all earlier ones of its key; false: it only names the grant
  /// With fence: the next grant of a key, by any process, has a fence that is greater by one. If false, it may be
  /// greater by more.
  bool consecutive_fences = true;
  bool min_hold = true;            ///< request::min_hold; false: the store does not know when a key was granted
  waiting waits = waiting::polls;  ///< how a call learns that a busy key may be free
  /// A thread that releases a lock for which another thread of its service waits passes it on by verb::pass_on: one
  /// statement instead of two. For keys with lease_kind::session.
  bool passes_on = false;
  /// verb::reserve, store::waited_for(), and request::wake of a poll. A process keeps keys between two leases
  /// (lock_options::linger). For keys with lease_kind::session.
  bool lingers = false;
  bool keeps_order = false;  ///< request::in_order, or the store always serves waiters in the order in which they came
  bool request_ids = false;  ///< a caller with a request::request_id re-enters what it holds, from any process
  bool any_key = true;       ///< any 1 to 255 bytes are a separate key; false: unfit_key() is asked about each
  /// The modes of lock_options::mode: request::units, seen::shared, verb::close and open. A key that is closed without
  /// another verb::close for some seconds is open again. A store that keeps a queue at the server need not know these
  /// two verbs: then its polls show no seen::shared.
  bool shares = false;
  bool marks = false;    ///< store::marks(): it keeps what was done once
  bool any_mode = true;  ///< with `shares` all modes, otherwise exclusive; false: unfit_mode() is asked about each

  /// What `waits` means: the store notifies waiters; a release wakes the first waiter; a release with request::wake
  /// wakes waiters of other processes; other programs use the same keys.
  bool tells_free() const noexcept { return waits == waiting::notified || waits == waiting::notified_beside_others; }
  bool wakes_one() const noexcept { return waits == waiting::woken || waits == waiting::woken_beside_others; }
  bool looks_for_waiters() const noexcept { return wakes_one() || waits == waiting::polls_and_wakes; }
  bool others_release() const noexcept {
    return waits == waiting::notified_beside_others || waits == waiting::woken_beside_others;
  }
};

}  // namespace dlock
