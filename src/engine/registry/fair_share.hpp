// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Keeps one process from monopolising a key that others wait for. There is no order between processes, and the process
/// that has just released a key is the first to know that it is free. A loop that takes the key again at once leaves it
/// free for a fraction of a millisecond, and a waiter that polls now and then hardly ever meets that moment. The
/// process in the loop does not know of the waiters, because a waiter writes nothing. So both sides do something:
///
///   a process that has taken a key again and again for a while yields it for a moment (tenure_tracker);
///   a waiter that sees one process take the key again and again, or have a second turn before its own first one, polls
///   often enough to meet it (starvation_detector).
///
/// If no other process took the key in that moment, the next such moment is later.
///
/// Where the store notifies all waiters at once, they race for the key, and the nearest one would win each time. The
/// reply to a release says how many waiters there are. So a process leaves a key alone after it has released it to
/// waiters, and in its next wait it asks later than waiters that were passed over more often
/// (acquire_machine::courtesy()). A waiter that hears of each release later than others may lose each race even so.
/// After a second it takes the key now and then without having heard of a release (acquire_machine::held()).

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "base/mutex.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "engine/machines/starvation.hpp"

namespace dlock::engine {

/// Facts about the keys that were used last, each by its hash. A forgotten key counts as never used. An entry has the
/// members `key`, that hash, and `used`, a time. Not thread-safe.
template <class Entry>
class recent_keys {
 public:
  /// Returns null if nothing is known of the key.
  Entry* find(const lock_key& key) noexcept {
    auto& set = set_of(key);
    const auto found = std::find_if(set.begin(), set.end(), [&](const Entry& each) { return each.key == key.hash(); });
    return found != set.end() ? &*found : nullptr;
  }
  /// Returns the key's own entry, or the one of its set that was used longest ago.
  Entry& slot_of(const lock_key& key) noexcept {
    if (auto* const found = find(key)) return *found;
    auto& set = set_of(key);
    return *std::min_element(set.begin(), set.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  }

 private:
  auto& set_of(const lock_key& key) noexcept { return sets_[key.hash() % sets_.size()]; }

  std::array<std::array<Entry, 8>, 64> sets_{};
};

/// How long this process has had its keys, one grant after the other. Pure except for its mutex: time is passed in.
class tenure_tracker {
 public:
  /// A tenure begins with shortest_tenure, and lasts twice as long each time when no other process came, up to this.
  static constexpr microseconds longest = std::chrono::seconds{2};

  /// How long this process must leave a key alone before it takes it.
  microseconds time_to_yield(const lock_key& key, instant now) noexcept;
  /// Whether this process, which holds the key, has held it long enough that it must yield after this grant.
  bool is_over(const lock_key& key, instant now) noexcept;
  struct acquisition {
    std::uint64_t fence = 0;
    bool counts = true;  ///< the fence is one more than that of the previous grant, of any process; otherwise only the
                         ///< time shows whether another process has had the key since
    bool watched = false;  ///< the store notified this process, and may have done so until now
    instant asked{};       ///< when the statement that got it was sent
    instant now{};
  };
  void granted(const lock_key& key, const acquisition& got) noexcept;
  /// The row of the present grant has got another fence, without another grant.
  void renumbered(const lock_key& key, std::uint64_t from, std::uint64_t to) noexcept;
  /// Called just before released(): that many waiters were notified.
  void notified(const lock_key& key, std::uint64_t fence, unsigned waiters, instant now) noexcept;
  /// This process has left a permit of the key to that many waiters.
  void gave_way(const lock_key& key, unsigned waiters, instant now) noexcept;
  /// How many waiters come before this process, if it has just released the key to them.
  unsigned rivals(const lock_key& key, instant now) noexcept;
  /// Whether the last release of this process has woken a waiter.
  bool handed_over(const lock_key& key) noexcept;
  void released(const lock_key& key, std::uint64_t fence, instant now) noexcept;

 private:
  struct tenure {
    std::uint64_t key = 0;  // its hash
    std::uint64_t fence = 0;
    instant begun{};     // or the last yield
    instant released{};  // zero while it is held
    instant used{};
    microseconds length{0};
    bool yielded = false;
    unsigned waiters = 0;
    bool watched = false;
  };
  base::mutex mutex_;
  recent_keys<tenure> keys_ DLOCK_GUARDED_BY(mutex_){};
};

/// When this process last knew that no other process waits for one of its keys. That decides which releases look for a
/// waiter, where that costs something (capabilities::looks_for_waiters()): those of a grant that it had to wait for,
/// and those after longer than quiet_without_waiters. So a short lease without waiters costs nothing, and a loop over
/// one key looks once in that time. A waiter relies on it only at a grant that it has seen for longer. Pure but for its
/// mutex.
class wake_knowledge {
 public:
  /// `nonce` names the grant. `asked_at` is when the take was sent. `waited`: a take had been refused before.
  void granted(const lock_key& key, std::uint64_t nonce, bool waited, instant asked_at) noexcept;
  /// Whether a release that is sent now looks for a waiter.
  bool looks(const lock_key& key, instant now) noexcept;
  /// Whether this process knew of waiters when it used the key last, or was one, a moment ago.
  bool contended(const lock_key& key, instant now) noexcept;
  /// The release of that grant, sent at `sent`, looked for waiters and woke that many. The process may have been
  /// granted the key again meanwhile.
  void looked(const lock_key& key, std::uint64_t nonce, unsigned waiters, instant sent) noexcept;
  /// Its release did not look.
  void released(const lock_key& key, std::uint64_t nonce, instant now) noexcept;

 private:
  struct entry {
    std::uint64_t key = 0;    // its hash
    instant nobody_at{};      // zero if unknown
    std::uint64_t nonce = 0;  // of the present grant; 0 if it is released
    instant used{};
  };

  base::mutex mutex_;
  recent_keys<entry> keys_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::engine
