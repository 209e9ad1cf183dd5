// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.hpp"

namespace dlock::stores {

/// Decides when the first waiter for a free key is passed over: its process may be stopped, or its host may have
/// vanished. Each process decides by what it has seen itself. Thread-safe.
class waiter_turns {
 public:
  using clock = std::chrono::steady_clock;
  /// A waiter that was woken has this long to take the key.
  static constexpr std::chrono::milliseconds longest{300};
  /// The second waiter for a key checks it this often, because it is the one that the first keeps waiting.
  static constexpr std::chrono::milliseconds second_look{900};

  /// Call it when the key, last granted with that fence, is free, and `who` is the first to wait for it. Returns
  /// whether the same was so `longest` ago or earlier. Throws std::bad_alloc.
  bool is_over(std::string_view key, std::uint64_t fence, std::string_view who, clock::time_point now) {
    const base::lock_guard lock(mutex_);
    if (turns_.size() >= most) turns_.clear();  // they begin again
    const auto found = turns_.find(key);
    if (found == turns_.end() || found->second.fence != fence || found->second.who != who) {
      turns_.insert_or_assign(std::string(key), turn{fence, std::string(who), now});
      return false;
    }
    if (now - found->second.begun < longest) return false;
    turns_.erase(found);
    return true;
  }

 private:
  static constexpr std::size_t most = 1'000;
  struct turn {
    std::uint64_t fence = 0;
    std::string who{};
    clock::time_point begun{};
  };

  base::mutex mutex_{};
  std::map<std::string, turn, std::less<>> turns_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::stores
