// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "dlock/lock_key.hpp"
#include "engine/registry/session.hpp"

namespace dlock::engine {

struct grant;
class local_readers;

/// One member of a key at the store, for all readers of this process that share it. The last of them releases it.
class reader_row {
 public:
  reader_row() = default;
  ~reader_row();
  reader_row(const reader_row&) = delete;
  reader_row& operator=(const reader_row&) = delete;

  /// Returns whether this was the last reader, who must release the row.
  bool leave() noexcept { return readers_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  friend class local_readers;
  bool enter() noexcept {
    auto now = readers_.load(std::memory_order_relaxed);
    while (now != 0) {
      if (readers_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  std::atomic<std::uint32_t> readers_{1};
  // Set once, when it is offered to others:
  local_readers* in_ = nullptr;
  std::string key_{};
  session_pin pin_{};
  std::uint64_t nonce_ = 0;
  std::uint64_t fence_ = 0;
  microseconds ttl_{0};
  instant asked_at_{};
  instant until_{};
};

/// The rows that further readers of this process may share. They may do so only for a short time after the grant: after
/// that the next reader asks the store, which refuses it while a caller of any process waits for the exclusive lock. So
/// such a caller waits for readers that are there, and not for those that come. Thread safety: all functions from any
/// thread.
class local_readers {
 public:
  /// How long after the grant of a row further readers may share it.
  static constexpr microseconds tenure = std::chrono::milliseconds{20};

  /// The store has granted it, with that row. Any thread may have ended it since; then nobody shares the row, nor if
  /// memory runs out.
  void offer(const grant& first, const std::shared_ptr<reader_row>& row, instant now) noexcept;
  /// Makes `next` a reader of a row that is there, with its session, nonce and token. Returns false if there is none.
  bool enter(grant& next, instant now) noexcept;

 private:
  friend class reader_row;
  void remove(reader_row& row) noexcept;

  base::mutex mutex_;
  std::map<std::string, std::weak_ptr<reader_row>, std::less<>> rows_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::engine
