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
/// because callbacks of the application may block or call back, and nothing else may wait for them. Thread safety: any
/// thread may call all functions, and deliver() one thread at a time.
class notifier {
 public:
  /// `on_posted` is called when deliver() has something to do. `next_lost` takes the next lost grant whose holder must
  /// be notified; null if there is none. `on_notified` is called when a holder has been notified.
  notifier(service_context& shared, std::function<void()> on_posted, std::function<std::shared_ptr<grant>()> next_lost,
           std::function<void()> on_notified)
      : shared_(shared),
        posted_(std::move(on_posted)),
        next_lost_(std::move(next_lost)),
        notified_(std::move(on_notified)) {}

  /// `next_lost` has a lost grant.
  void note_loss() noexcept { posted_(); }
  /// Counts the event at once. It is not delivered if very many others wait for that, or if memory runs out.
  void post(const event& happened) noexcept;

  /// Notifies the holder of one lost grant, and then the observer of it; or delivers one event. Returns false if there
  /// was neither.
  bool deliver(instant now) noexcept;

 private:
  /// An event with copies of its texts.
  struct notice {
    event says{};
    std::string key{};
    std::string text{};
  };

  void tell(grant& lost, instant now) noexcept DLOCK_EXCLUDES(mutex_);

  service_context& shared_;
  const std::function<void()> posted_;
  const std::function<std::shared_ptr<grant>()> next_lost_;
  const std::function<void()> notified_;
  base::mutex mutex_;
  std::deque<notice> notices_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::engine
