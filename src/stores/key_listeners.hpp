// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"

namespace dlock::stores {

/// The waiters of this process for one key.
struct key_listeners {
  std::vector<key_listener*> all{};
  bool informed = false;   ///< each of them knows that notifications work
  bool relied_on = false;  ///< some have stopped polling, so they must learn when notifications stop

  void add(key_listener& listener) {
    if (all.empty()) relied_on = false;
    all.push_back(&listener);
    informed = false;
  }
  /// `rung`: a release, or another process, has notified this one.
  void notify(bool works, bool rung = false) noexcept {
    informed = relied_on = works;
    for (auto* const each : all) rung ? each->was_rung() : each->may_be_free(works);
  }
};

/// Notes which watched keys this process has taken or released. It calls nothing while its mutex is locked, so
/// execute() may use it. Thread-safe.
class key_notes {
 public:
  /// Begins to watch the key, or clears its note. Returns whether the key was taken. Throws std::bad_alloc.
  bool begin(std::string_view key) {
    const base::lock_guard lock(mutex_);
    auto& note = notes_[std::string(key)];
    count_ = notes_.size();
    return std::exchange(note, {}).taken;
  }
  /// Returns whether the key was taken.
  bool end(std::string_view key) noexcept {
    const base::lock_guard lock(mutex_);
    const auto found = notes_.find(key);
    if (found == notes_.end()) return false;
    const bool taken = found->second.taken;
    notes_.erase(found);
    count_ = notes_.size();
    return taken;
  }
  void clear() noexcept {
    const base::lock_guard lock(mutex_);
    notes_.clear();
    count_ = 0;
  }

  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
  void set_taken(std::string_view key, bool taken) noexcept {
    note(key, [taken](noted& of) { of.taken = taken; });
  }
  /// Notes the fence that a poll has shown to a waiter. Fences only grow. Returns whether the key is watched.
  bool set_polled(std::string_view key, std::uint64_t fence) noexcept {
    return note(key, [fence](noted& of) { of.polled = std::max(of.polled, fence); });
  }
  /// Returns the last fence that a poll has shown; 0 if there was no poll.
  std::uint64_t polled(std::string_view key) noexcept {
    std::uint64_t fence = 0;
    note(key, [&fence](const noted& of) { fence = of.polled; });
    return fence;
  }
  /// What the caller that polled last needs to become a member of the key; no units: it does not want that.
  struct member_needs {
    std::uint32_t units = 0;
    std::uint32_t permits = 0;  ///< 0: no limit
  };
  void set_needs(std::string_view key, member_needs what) noexcept {
    note(key, [what](noted& of) { of.needs = what; });
  }
  member_needs needs(std::string_view key) noexcept {
    member_needs what;
    note(key, [&what](const noted& of) { what = of.needs; });
    return what;
  }
  /// Returns whether the key is watched.
  bool set_released(std::string_view key) noexcept {
    const bool watched = note(key, [](noted& of) { of.released = true; });
    if (watched) any_released_ = true;
    return watched;
  }
  /// Returns whether any watched key was released since the last call.
  bool any_released() noexcept {
    return any_released_.load(std::memory_order_relaxed) && any_released_.exchange(false);
  }
  /// Returns whether the key was released since the last call.
  bool released(std::string_view key) noexcept {
    bool was = false;
    note(key, [&was](noted& of) { was = std::exchange(of.released, false); });
    return was;
  }

 private:
  struct noted {
    bool taken = false;
    bool released = false;
    std::uint64_t polled = 0;
    member_needs needs{};
  };
  template <class Change>
  bool note(std::string_view key, Change change) noexcept {
    if (empty()) return false;
    const base::lock_guard lock(mutex_);
    const auto found = notes_.find(key);
    if (found == notes_.end()) return false;
    change(found->second);
    return true;
  }

  base::mutex mutex_{};
  std::map<std::string, noted, std::less<>> notes_ DLOCK_GUARDED_BY(mutex_){};
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> any_released_{false};
};

/// The services that listen to a store. Thread-safe.
class store_listeners {
 public:
  void add(store_listener& listener) noexcept {
    try {
      const base::lock_guard lock(mutex_);
      all_.push_back(&listener);
      if (!unheard_.empty()) listener.waiters_poll(std::exchange(unheard_, {}));
    } catch (const std::bad_alloc&) {
      // This listener is not notified, so its service notices losses only when it renews.
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
      // Only the report is lost.
    }
  }

 private:
  base::mutex mutex_{};
  std::vector<store_listener*> all_ DLOCK_GUARDED_BY(mutex_){};
  std::string unheard_ DLOCK_GUARDED_BY(mutex_){};  ///< from prepare(), which runs before the first listener is added
};

}  // namespace dlock::stores
