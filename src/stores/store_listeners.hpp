// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"

namespace dlock::stores {

/// Services that listen to a store, and one call for all of them. Thread-safe.
class store_listeners {
 public:
  void add(store_listener& listener) noexcept {
    try {
      const base::lock_guard lock(mutex_);
      all_.push_back(&listener);
      if (!unheard_.empty()) listener.waiters_poll(std::exchange(unheard_, {}));
    } catch (const std::bad_alloc&) {
      // It hears nothing, and notices losses at its renewals alone.
    }
  }
  /// The listener isn't called any more once this returns.
  void remove(store_listener& listener) noexcept {
    const base::lock_guard lock(mutex_);
    std::erase(all_, &listener);
  }
  void renew_now() noexcept {
    const base::lock_guard lock(mutex_);
    for (auto* each : all_) each->renew_now();
  }
  void lock_deleted(std::string_view key, const id128& session, std::uint64_t fence) noexcept {
    const base::lock_guard lock(mutex_);
    for (auto* each : all_) each->lock_deleted(key, session, fence);
  }
  void waiters_poll(std::string_view why) noexcept {
    const base::lock_guard lock(mutex_);
    for (auto* each : all_) each->waiters_poll(why);
    if (!all_.empty()) return;
    try {
      unheard_ = why;
    } catch (const std::bad_alloc&) {
      // Waiters poll all the same.
    }
  }

 private:
  base::mutex mutex_{};
  std::vector<store_listener*> all_ DLOCK_GUARDED_BY(mutex_){};
  std::string unheard_ DLOCK_GUARDED_BY(mutex_){};  ///< by prepare(), which comes before the first listener
};

}  // namespace dlock::stores
