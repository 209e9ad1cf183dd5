// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/herald.hpp"

#include <new>
#include <utility>

namespace dlock::detail {

namespace {
/// An observer that blocks for ever must not make the process grow for ever.
constexpr std::size_t most_waiting = 1000;
}  // namespace

void herald::post(std::shared_ptr<grant> lost) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    posted_.emplace_back(lost);
    shared_.time.notify(wake_);
    return;
  } catch (const std::bad_alloc&) {
  }
  tell(*lost);
}

void herald::post(notice what) {
  shared_.add_up(what.what);
  if (shared_.options.observer == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (notices_ >= most_waiting) return;
  ++notices_;
  posted_.emplace_back(std::move(what));
  shared_.time.notify(wake_);
}

void herald::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_ = true;
  shared_.time.notify(wake_);
}

void herald::tell(grant& lost) noexcept {
  lost.lost.request_stop();
  lost.told = true;
  told_();
  shared_.tell({.what = event::kind::lost,
                .key = lost.key.view(),
                .fence = lost.fence,
                .held = shared_.now() - lost.granted_at,
                .reason = lost.reason.load()});
}

void herald::tell(const notice& what) noexcept {
  shared_.deliver({.what = what.what,
                   .key = what.key,
                   .fence = what.fence,
                   .held = what.held,
                   .attempts = what.attempts,
                   .reason = what.reason,
                   .text = what.text});
}

void herald::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (posted_.empty()) {
      if (stop_) return;
      shared_.time.wait_until(wake_, lock, instant::max());
      continue;
    }
    {
      const auto one = std::move(posted_.front());
      posted_.pop_front();
      if (std::holds_alternative<notice>(one)) --notices_;
      lock.unlock();
      if (const auto* const lost = std::get_if<std::shared_ptr<grant>>(&one)) {
        tell(**lost);
      } else {
        tell(std::get<notice>(one));
      }
      // Its end may be the end of much more: not under the lock.
    }
    lock.lock();
  }
}

}  // namespace dlock::detail
