// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::mysql::t_lock {

/// What this process holds in the names of requests. A row counts the holds of a request and does not distinguish one
/// from the others, so that a statement that comes late could end another's. Here stands which are ours, and until
/// when: so long the row is that request's without a break, if no other program of the request has shortened its time.
/// Times are the server's, in milliseconds. Thread safety: any thread.
class request_holds {
 public:
  /// Makes room for an attempt's, before it is sent: nothing can fail after the server's yes. Throws std::bad_alloc.
  void expect(const request& attempt, std::int64_t now);
  /// Granted, or extended.
  void keep(const request& attempt, std::int64_t until) noexcept;
  /// Until when; nothing: it is none of ours. `last`: for the one statement that ends it, and it is not handed out
  /// again: what that statement did can't be seen in the row, and a second one could end another's.
  std::optional<std::int64_t> use(const request& attempt, bool last) noexcept;
  /// Whether it was used for the last time, and the result of that is unknown.
  bool spent(const request& attempt) noexcept;
  /// That statement has certainly not been executed.
  void unspend(const request& attempt) noexcept;
  void forget(const request& attempt) noexcept;

 private:
  struct hold {
    std::int64_t until = 0;  // 0: not granted yet
    bool spent = false;
  };
  using name = std::pair<id128, std::uint64_t>;
  static name name_of(const request& attempt) noexcept { return {attempt.session, attempt.nonce}; }
  hold* find(const request& attempt) noexcept DLOCK_REQUIRES(mutex_);

  base::mutex mutex_;
  std::map<name, hold> holds_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t enough_ DLOCK_GUARDED_BY(mutex_) = 64;
};

}  // namespace dlock::stores::mysql::t_lock
