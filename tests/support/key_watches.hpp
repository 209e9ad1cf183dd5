// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "dlock/store_interface/store.hpp"

namespace dlock::test {

/// Who waits for which key, as store::watch() has been told; the test says when it may be free. Thread-safe.
class key_watches {
 public:
  /// Tells those who watch the key. Returns how many there are.
  std::size_t tell(std::string_view key, bool works = true) {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& [of, listener] : watches_) {
      if (of != key) continue;
      listener->may_be_free(works);
      ++count;
    }
    return count;
  }
  std::size_t watched(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(watches_.begin(), watches_.end(), [&](const auto& each) { return each.first == key; }));
  }

  /// How many watches there have been.
  std::size_t begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 protected:
  void add_watch(std::string_view key, key_listener& listener) {
    const std::lock_guard lock(mutex_);
    watches_.emplace_back(key, &listener);
    ++begun_;
  }
  void end_watch(std::string_view key, key_listener& listener) {
    const std::lock_guard lock(mutex_);
    watches_.remove_if([&](const auto& each) { return each.first == key && each.second == &listener; });
  }

 private:
  mutable std::mutex mutex_;
  std::list<std::pair<std::string, key_listener*>> watches_{};
  std::size_t begun_ = 0;
};

}  // namespace dlock::test
