// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Finds deadlock cycles of processes from what each process writes about its waits and the locks that it holds
/// meanwhile. Every process reads who holds a key; only waiters for a row read who holds it.

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

/// Stands for a waiter whose session is unknown.
inline constexpr std::string_view unknown_process = "a process without a session";

/// A process that holds locks while it waits for a key. `held` has times (`until`) of a clock that all processes share.
struct nested_waiter {
  std::string process{};  ///< any name that identifies it
  std::string who{};
  std::string waits_for{};
  std::uint64_t since = 0;  ///< when it wrote what it holds; the youngest wait of a cycle has the greatest value
  /// When its process last confirmed all of this.
  std::uint64_t confirmed = std::numeric_limits<std::uint64_t>::max();
  std::vector<lock_held_meanwhile> held{};
  row_grant row{};  ///< as in held_meanwhile
};

/// The text for the column, without the time, which the server writes before it; empty if nothing is held. `now` is by
/// the clock of `until`: the column has the remaining time.
std::string write_held(const held_meanwhile& held, instant now);
/// Reads the column, with its time and perhaps the time of a confirmation after a '+'. Returns false for another form.
bool read_held(std::string_view text, nested_waiter& into);

/// The present holder of a key, which is alive.
struct present_grant {
  id128 session{};
  std::uint64_t fence = 0;
};

/// A deadlock cycle that a process has to break, because its wait ends first, and so is in vain. If several waits end
/// together, the youngest one breaks the cycle.
struct deadlock_cycle {
  std::string waits_for{};
  lock_held_meanwhile held{};
  std::vector<cycle_link> others{};

  friend bool operator<(const deadlock_cycle& a, const deadlock_cycle& b) noexcept {
    return std::tie(a.waits_for, a.held.key, a.held.nonce) < std::tie(b.waits_for, b.held.key, b.held.nonce);
  }
};

/// The deadlock cycles that a process takes part in. The row of a wait that has ended may still be there, so a cycle
/// counts only after each of its waits was confirmed later than the youngest began.
struct found_cycles {
  std::vector<deadlock_cycle> to_break{};
  /// The process's own waits to confirm: the key of each, and since when it lasts.
  std::map<std::string, std::uint64_t> to_confirm{};
  /// Processes to wake: they have not confirmed their waits, so that the own one can't be refused yet, or they have to
  /// break a cycle that the own wait has closed.
  std::set<std::string> to_ask{};
};

/// A key counts as released if `grants` has another holder for it than the waiter wrote, and so does a row whose
/// waiters have seen another grant.
found_cycles find_cycles(const std::vector<nested_waiter>& waiters, const std::map<std::string, present_grant>& grants,
                         std::string_view process);

/// Where processes don't confirm their waits, tells lasting deadlock cycles from apparent ones, which arise because the
/// waits of several processes are read one after the other.
class lasting_cycles {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds lasts{100};

  /// Returns those of `found` that were found in every call for long enough.
  std::vector<deadlock_cycle> found(std::vector<deadlock_cycle> found, time_point now);
  bool empty() const noexcept { return since_.empty(); }
  void clear() noexcept { since_.clear(); }

 private:
  std::map<deadlock_cycle, time_point> since_{};
};

}  // namespace dlock::stores::sql
