// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/id128.hpp"

namespace dlock::stores::redis::leases {

/// Which locks the sessions of this process hold, as far as the store has answered: a renewal looks for some of them at
/// the server. Thread-safe.
class held_locks {
 public:
  struct held {
    std::string key{};
    std::uint64_t fence = 0;
  };

  void granted(const id128& session, std::string_view key, std::uint64_t fence) noexcept;
  void ended(const id128& session, std::string_view key) noexcept;
  void forget(const id128& session) noexcept;
  /// Up to `most` of a session's, in turn: as many calls as it takes return each of them.
  std::vector<held> next(const id128& session, std::size_t most);

 private:
  struct book {
    std::map<std::string, std::uint64_t, std::less<>> locks{};
    std::string last{};  ///< that next() returned
  };

  base::mutex mutex_;
  std::map<id128, book> sessions_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::stores::redis::leases
