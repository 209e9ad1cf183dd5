// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

#include "dlock/store_interface/store.hpp"

namespace dlock::test {

/// Hands watches on to another store, and what it tells to who watches, unless `silent` says that nothing arrives.
/// Thread-safe.
class watch_relays {
 public:
  watch_relays(store& to, const std::atomic<bool>& silent) : to_(to), silent_(silent) {}

  void begin(std::string_view key, const id128& session, key_listener& listener) {
    relay* mine = nullptr;
    {
      const std::lock_guard lock(mutex_);
      mine = &relays_.emplace_back(*this, key, session, listener);
    }
    to_.watch(key, session, *mine);
  }
  void end(std::string_view key, const id128& session, key_listener& listener) {
    std::list<relay> mine;
    {
      const std::lock_guard lock(mutex_);
      for (auto at = relays_.begin(); at != relays_.end(); ++at) {
        if (at->key != key || at->session != session || &at->listener != &listener) continue;
        mine.splice(mine.end(), relays_, at);
        break;
      }
    }
    for (auto& each : mine) to_.unwatch(key, session, each);
  }
  /// How often somebody was told something.
  std::size_t notified() const { return notified_; }

 private:
  struct relay final : key_listener {
    relay(watch_relays& of, std::string_view watched, const id128& by, key_listener& to)
        : owner(of), key(watched), session(by), listener(to) {}
    void may_be_free(bool works) noexcept override {
      if (owner.silent_) return;
      ++owner.notified_;
      listener.may_be_free(works);
    }
    watch_relays& owner;
    const std::string key;
    const id128 session;
    key_listener& listener;
  };

  store& to_;
  const std::atomic<bool>& silent_;
  std::atomic<std::size_t> notified_{0};
  std::mutex mutex_{};
  std::list<relay> relays_{};
};

}  // namespace dlock::test
