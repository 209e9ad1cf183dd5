// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The combined meaning of several masters' answers.

#include <chrono>
#include <cstddef>
#include <deque>
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
  silent,   ///< it did not reply in time: it may have executed the request, or may do so later
  refused,  ///< an error, so it has not executed the request
  no,
  gone,  ///< no, because it has no such key; never the answer to a take
  yes,
};

/// One master's vote on one request.
struct ballot {
  vote said = vote::none;
  bool votes = false;    ///< false if it was started lately
  bool remains = false;  ///< a take may have left its grant there
  const answer* response = nullptr;
};

/// How many masters must agree, and how many there are.
struct majority {
  std::size_t quorum = 0;
  std::size_t masters = 0;

  /// Whether `count` refusals leave no majority for another answer.
  bool blocks(std::size_t count) const noexcept { return count > masters - quorum; }
};

/// A take's answer is a status or nothing, a poll's any answer for yes, and the others' 1 or 0.
vote vote_of(verb action, const answer& response) noexcept;

/// Without reply::why, which is the same for all requests that failed.
outcome take_outcome(std::span<const ballot> all, majority of) noexcept;
outcome extend_outcome(std::span<const ballot> all, majority of) noexcept;
outcome release_outcome(std::span<const ballot> all, majority of) noexcept;
/// Returns yes for a cancel only if a majority had the key, and no if none did, or a rest.
outcome cancel_outcome(std::span<const ballot> all, majority of) noexcept;

/// The result of a poll.
struct sight {
  outcome result = outcome::failed;
  std::string_view value{};   ///< of the holder that most masters have
  bool held = false;          ///< whether a majority has it
  microseconds remaining{0};  ///< until a majority is free, if nothing else happens
};
sight poll_result(std::span<const ballot> all, majority of);

/// The masters that had no key of a lease at its last renewal. Thread-safe.
class missing_keys {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Notes the masters where a renewal found no key, until `until`, when the lease has ended unless it was renewed
  /// again. Returns which of them had none at the previous renewal either.
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
  std::size_t cleanup_cursor_ DLOCK_GUARDED_BY(mutex_) = 0;  ///< the size at which ended leases are removed
};

/// How many masters have published that they deleted a key. Thread-safe.
class published_releases {
 public:
  explicit published_releases(std::size_t quorum) noexcept : quorum_(quorum) {}

  /// Notes that another master has published that it deleted this value. Returns true if that makes a majority.
  bool add(std::string_view key, std::string_view value);
  void forget(std::string_view key);

 private:
  /// Between the first and the last master's message about one value, others may publish later values, or earlier ones
  /// if they are slow.
  static constexpr std::size_t most_values = 16;
  struct entry {
    std::string value{};
    std::size_t masters = 0;
  };

  const std::size_t quorum_;
  base::mutex mutex_;
  /// The last values of each key, the newest first.
  std::map<std::string, std::deque<entry>, std::less<>> last_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::stores::redis::redlock
