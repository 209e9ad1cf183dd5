// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.hpp"

namespace dlock::stores::redis::redlock {

/// Which masters had no key of a lease at its last renewal. Thread-safe.
class missing_keys {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// What a renewal found on each master; true: no key. Which of them had none at the renewal before either. Remembered
  /// until `until`, when the lease has ended unless it was renewed again.
  std::vector<bool> again(const std::string& lease, const std::vector<bool>& missing, time_point now, time_point until);
  /// The lease has ended.
  void forget(const std::string& lease);
  std::size_t size() const;

 private:
  struct entry {
    std::vector<bool> masters{};
    time_point until{};
  };

  mutable base::mutex mutex_;
  std::map<std::string, entry> leases_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t cleanup_cursor_ DLOCK_GUARDED_BY(mutex_) = 0;  ///< so many
};

}  // namespace dlock::stores::redis::redlock
