// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/herald.hpp"

namespace dlock::detail {

void herald::post(std::shared_ptr<grant> lost) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(lost));
  wake_.notify_all();
}

void herald::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  wake_.notify_all();
}

void herald::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (posted_.empty()) {
      if (stop_) return;
      wake_.wait(lock);
      continue;
    }
    const auto one = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    one->lost.request_stop();
    shared_.tell({.what = event::kind::lost,
                  .key = one->key.view(),
                  .fence = one->fence,
                  .held = shared_.now() - one->granted_at,
                  .reason = one->reason.load()});
    lock.lock();
  }
}

}  // namespace dlock::detail
