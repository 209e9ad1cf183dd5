// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Deadlock cycles of processes that wait for each other, from what they say of their waits and of what they hold
/// meanwhile. Who has a key is read by any of them; who has a row, only by those that wait for it.

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "dlock/store_interface/store.hpp"

namespace dlock::stores::sql {

/// Of a waiter of which no session is known.
inline constexpr std::string_view unknown_process = "a process without a session";

/// A process that holds locks while it waits for a key. Of what it holds, `until` is by a clock that all have.
struct nested_waiter {
  std::string process{};  ///< names it, whatever that is
  std::string who{};
  std::string waits_for{};
  std::uint64_t since = 0;  ///< when it was written what is held: the youngest of a deadlock cycle has the greatest
  /// When its process last said that all of this was still so.
  std::uint64_t confirmed = std::numeric_limits<std::uint64_t>::max();
  std::vector<lock_held_meanwhile> held{};
  row_grant row{};  ///< as in held_meanwhile
};

/// As a column has it: without the time, which the server writes before it. Empty: nothing is held. `now`: by the clock
/// of `until`, of which the column has what remains.
std::string write_held(const held_meanwhile& held, instant now);
/// The opposite, with the time, and maybe with that of a confirmation after a '+'. False: it is not of this form.
bool read_held(std::string_view text, nested_waiter& into);

/// The present holder of a key, alive.
struct present_grant {
  id128 session{};
  std::uint64_t fence = 0;
};

/// A deadlock cycle that a process has to break, because its wait ends first, and so is in vain. Of several that end
/// together that is the youngest.
struct deadlock_cycle {
  std::string waits_for{};
  lock_held_meanwhile held{};
  std::vector<cycle_link> others{};

  friend bool operator<(const deadlock_cycle& a, const deadlock_cycle& b) noexcept {
    return std::tie(a.waits_for, a.held.key, a.held.nonce) < std::tie(b.waits_for, b.held.key, b.held.nonce);
  }
};

/// Of the deadlock cycles that `process` takes part in. A wait that has ended may still be written, so each of them
/// must be confirmed after the youngest has begun.
struct found_cycles {
  std::vector<deadlock_cycle> to_break{};
  /// The own waits that are to be confirmed, each by its key and the time since when it lasts.
  std::map<std::string, std::uint64_t> to_confirm{};
  /// Processes that are to look at once: they have not confirmed their waits, so that the own one can't be refused, or
  /// they have to break a deadlock cycle that the own wait has closed.
  std::set<std::string> to_ask{};
};

/// A key that `grants` does not have as the waiter said counts as released, and so does a row whose waiters have seen
/// another grant.
found_cycles find_cycles(const std::vector<nested_waiter>& waiters, const std::map<std::string, present_grant>& grants,
                         std::string_view process);

/// Tells deadlock cycles that last from those of a moment, where nobody confirms: the waits of several processes are
/// not read at one time.
class lasting_cycles {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds lasts{100};

  /// Those of `found` that were found again and again for so long.
  std::vector<deadlock_cycle> found(std::vector<deadlock_cycle> found, time_point now);
  bool empty() const noexcept { return since_.empty(); }
  void clear() noexcept { since_.clear(); }

 private:
  std::map<deadlock_cycle, time_point> since_{};
};

}  // namespace dlock::stores::sql
