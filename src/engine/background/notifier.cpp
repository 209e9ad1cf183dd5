// SPDX-License-Identifier: BSL-1.0
#include "engine/background/notifier.hpp"

#include <new>
#include <optional>
#include <utility>

namespace dlock::engine {

namespace {
/// An observer that never returns must not make the process grow without a limit.
constexpr std::size_t most_waiting = 1000;
}  // namespace

void notifier::post(std::shared_ptr<grant> lost) noexcept {
  {
    const base::lock_guard lock(mutex_);
    lost_.push_back(std::move(lost));
  }
  posted_();
}

void notifier::post(const event& happened) noexcept {
  shared_.count_up(happened.what);
  if (shared_.options.observer == nullptr) return;
  try {
    notice entry{happened, std::string(happened.key), std::string(happened.text)};
    const base::lock_guard lock(mutex_);
    if (notices_.size() >= most_waiting) return;
    notices_.push_back(std::move(entry));
  } catch (const std::bad_alloc&) {
    return;
  }
  posted_();
}

void notifier::tell(grant& lost, instant now) noexcept {
  {
    const application_code here(shared_);
    lost.notify_holder();
  }
  notified_();
  shared_.notify({.what = event::kind::lost,
                  .key = lost.key.view(),
                  .fence = lost.fence_shown(),
                  .held = now - lost.granted_at,
                  .reason = lost.reason.load()});
}

bool notifier::deliver(instant now) noexcept {
  std::shared_ptr<grant> lost;
  std::optional<notice> says;
  {
    const base::lock_guard lock(mutex_);
    if (!lost_.empty()) {
      lost = lost_.pop_front();
    } else if (!notices_.empty()) {
      says = std::move(notices_.front());
      notices_.pop_front();
    } else {
      return false;
    }
  }
  if (lost != nullptr) {
    tell(*lost, now);
  } else {
    says->says.key = says->key;
    says->says.text = says->text;
    shared_.deliver(says->says);
  }
  return true;
}

}  // namespace dlock::engine
