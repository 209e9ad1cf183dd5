// SPDX-License-Identifier: BSL-1.0
#include "engine/background/notifier.hpp"

#include <new>
#include <utility>

namespace dlock::engine {

namespace {
/// An observer that never returns must not make the process grow without a limit.
constexpr std::size_t most_waiting = 1000;
}  // namespace

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
  // Losses go first: holders must know before the observer gets anything else.
  if (const auto lost = next_lost_(); lost != nullptr) {
    tell(*lost, now);
    return true;
  }
  notice says;
  {
    const base::lock_guard lock(mutex_);
    if (notices_.empty()) return false;
    says = std::move(notices_.front());
    notices_.pop_front();
  }
  says.says.key = says.key;
  says.says.text = says.text;
  shared_.deliver(says.says);
  return true;
}

}  // namespace dlock::engine
