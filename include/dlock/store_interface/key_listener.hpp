// SPDX-License-Identifier: BSL-1.0
#pragma once

/// A caller that waits for a key, for the store. Only authors of stores need it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace DLOCK_EXPORT dlock {

/// Names a grant: of a row, or of a key that is not kept by its session yet.
struct row_grant {
  id128 session{};
  std::uint64_t nonce = 0;

  explicit operator bool() const noexcept { return nonce != 0; }
  friend bool operator==(const row_grant&, const row_grant&) noexcept = default;
};

/// A lock that a caller holds while it waits for another one.
struct lock_held_meanwhile {
  std::string key{};
  id128 session{};
  std::uint64_t fence = 0;
  std::uint64_t nonce = 0;  ///< of a row: session and nonce name its grant; 0 for a key
  instant until{};          ///< by the service's clock: the latest end of the wait

  friend bool operator==(const lock_held_meanwhile&, const lock_held_meanwhile&) noexcept = default;
};

/// The locks that callers hold while they wait for one key.
struct held_meanwhile {
  std::vector<lock_held_meanwhile> locks{};
  row_grant row{};  ///< if the wait is for a row, the row's present grant

  friend bool operator==(const held_meanwhile&, const held_meanwhile&) noexcept = default;
};

/// A caller that waits, and holds a lock for which another one waits.
struct cycle_link {
  std::string who{};        ///< "host/pid label"; empty for a thread of this process
  std::string waits_for{};  ///< the key's bytes
};

/// A waiter for a key, for the store.
class key_listener {
 public:
  /// The key may be free, so the waiter asks for it at once. `works`: the store notifies it of every such moment from
  /// now on (with capabilities::others_release(), of each that it knows). If false, the store can't at present, so the
  /// waiter polls with back-off until the next call. It only signals, but takes locks for it.
  /// Precondition: the store holds no lock that execute() takes.
  /// Thread safety: from any thread.
  virtual void may_be_free(bool works) noexcept = 0;
  /// The same while it works, after another process has notified this one, as far as the store knows.
  virtual void was_rung() noexcept { may_be_free(true); }
  /// The mode in which the waiter wants the key. Only for store::watch(), while that runs.
  virtual key_mode mode() const noexcept { return {}; }
  /// Adds the locks that threads of this process hold while they wait for the key, and can't release before they have
  /// it. A store that shares them with other processes finds deadlock cycles. The service calls
  /// store::waiters_changed() when they change.
  /// Errors: std::bad_alloc.
  virtual void list_held(held_meanwhile& /*all*/) const {}
  /// The thread that waits for the key and holds `held` is in a deadlock cycle with these: the first one holds the key,
  /// each other one holds the lock for which the one before it waits, and the last waits for `held`. The thread's wait
  /// would end first (`until`), so it ends now, with lock_deadlock. This only signals.
  virtual void closes_cycle(const lock_held_meanwhile& /*held*/, std::span<const cycle_link> /*others*/) noexcept {}

 protected:
  ~key_listener() = default;
};

}  // namespace dlock
