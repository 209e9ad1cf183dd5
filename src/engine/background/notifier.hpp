// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/mutex.hpp"
#include "engine/registry/grant.hpp"
#include "engine/registry/service_context.hpp"

namespace dlock::engine {

/// Notifies holders of lost leases, and the observer of what happened in the background. A separate thread serves it,
/// because users' callbacks may block or call back, and nothing else may wait for them. Thread safety: all
/// functions from any thread; deliver() from one at a time.
class notifier {
 public:
  /// `on_posted`: deliver() has something to do. `on_notified`: the holder of that lost grant has been notified.
  notifier(service_context& shared, std::function<void()> on_posted, std::function<void()> on_notified)
      : shared_(shared), posted_(std::move(on_posted)), notified_(std::move(on_notified)) {}

  /// A grant was lost: notifies its holder, then the observer. Never fails.
  void post(std::shared_ptr<grant> lost) noexcept;
  /// Counted at once. Not delivered while very many others wait to be delivered, or without memory.
  void post(const event& happened) noexcept;

  /// Delivers one. False: there was none.
  bool deliver(instant now) noexcept;

 private:
  /// An event that owns what it says.
  struct notice {
    event says{};
    std::string key{};
    std::string text{};
  };

  void tell(grant& lost, instant now) noexcept DLOCK_EXCLUDES(mutex_);

  service_context& shared_;
  const std::function<void()> posted_;
  const std::function<void()> notified_;
  base::mutex mutex_;
  // Losses go first: holders must know before the observer gets anything else.
  grant_list<&grant::next_notified> lost_ DLOCK_GUARDED_BY(mutex_){};
  std::deque<notice> notices_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::engine
