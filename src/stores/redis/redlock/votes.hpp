// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the answers of several masters mean together.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "stores/redis/client/protocol.hpp"

namespace dlock::stores::redis::redlock {

enum class vote {
  none,     ///< it was not asked
  silent,   ///< asked, and there was no answer in time: it may have done it, or may do it later
  refused,  ///< an error: it has not done it
  no,
  gone,  ///< no, because it has no such key; a take is never answered by that
  yes,
};

/// Of one master, about one request.
struct ballot {
  vote said = vote::none;
  bool votes = false;    ///< else it was started lately
  bool remains = false;  ///< take: what it may have granted may still be there
  const answer* response = nullptr;
};

/// How many masters must agree, of how many.
struct majority {
  std::size_t quorum = 0;
  std::size_t masters = 0;

  /// So many that say no leave no majority for another answer.
  bool blocks(std::size_t count) const noexcept { return count > masters - quorum; }
};

/// "SET NX": a status, or nothing. Others: 1 or 0. Of a poll, any answer is yes.
vote vote_of(verb action, const answer& response) noexcept;

/// Without reply::why, which is the same for all requests that failed.
outcome take_outcome(std::span<const ballot> all, majority of) noexcept;
outcome extend_outcome(std::span<const ballot> all, majority of) noexcept;
outcome release_outcome(std::span<const ballot> all, majority of) noexcept;
/// cancel: yes only if a majority had it. No: nothing, or a rest, was there.
outcome cancel_outcome(std::span<const ballot> all, majority of) noexcept;

/// What a poll found.
struct sight {
  outcome result = outcome::failed;
  std::string_view value{};   ///< of the holder with most masters
  bool held = false;          ///< by a majority of them
  microseconds remaining{0};  ///< until a majority is free, if nothing else happens
};
sight poll_result(std::span<const ballot> all, majority of);

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

/// Which masters have deleted a key, as they publish it. Thread-safe.
class published_releases {
 public:
  explicit published_releases(std::size_t quorum) noexcept : quorum_(quorum) {}

  /// One more master has published that it has deleted this value. True: now a majority has.
  bool add(std::string_view key, std::string_view value);
  void forget(std::string_view key);

 private:
  struct entry {
    std::string value{};
    std::size_t masters = 0;
  };

  const std::size_t quorum_;
  base::mutex mutex_;
  std::map<std::string, entry, std::less<>> last_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::stores::redis::redlock
