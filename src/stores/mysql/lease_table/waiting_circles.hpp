// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Circles of processes that wait for each other, from the rows of the waiter table. Pure functions.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store.hpp"

namespace dlock::stores::mysql::lease_table {

/// A row of a process that holds locks while it waits.
struct nested_waiter {
  std::string bell{};  ///< of the process
  std::string who{};
  std::string waits_for{};
  std::uint64_t since = 0;  ///< when it was written what is held: the youngest of a circle has the greatest
  std::vector<lock_held_meanwhile> held{};
};

/// What the column `held` has: without the time, which the server writes before it. Empty: nothing is held.
std::string write_held(const std::vector<lock_held_meanwhile>& held);
/// The opposite, with the time. False: it is not of this form.
bool read_held(std::string_view text, nested_waiter& into);

/// The present holder of a key, alive.
struct present_grant {
  std::string session{};  ///< its bytes
  std::uint64_t fence = 0;
};

/// A circle that `bell`'s process has to break, because its wait is the youngest.
struct waiting_circle {
  std::string waits_for{};
  std::string held{};
  std::vector<circle_link> others{};

  friend bool operator<(const waiting_circle& a, const waiting_circle& b) noexcept {
    return a.waits_for != b.waits_for ? a.waits_for < b.waits_for : a.held < b.held;
  }
};

/// Those of these waiters. A lock that `grants` does not have as the waiter said counts as released.
std::vector<waiting_circle> find_circles(const std::vector<nested_waiter>& waiters,
                                         const std::map<std::string, present_grant>& grants, std::string_view bell);

}  // namespace dlock::stores::mysql::lease_table
