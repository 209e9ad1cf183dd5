// SPDX-License-Identifier: BSL-1.0
// How a service ends.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "engine/books/own_stack.hpp"
#include "engine/core/service_core.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
/// How long the service's destructor waits for the threads; they hold the core and may end later.
constexpr auto farewell = 10s;
}  // namespace

service_core::call::call(service_core& core) : core_(core.shared_from_this()) { ++core_->calls_; }

service_core::call::~call() {
  --core_->calls_;
  core_->changed();
}

void service_core::wake_closing() noexcept {
  if (!closed_.load()) return;  // nothing waits for it before that
  const base::lock_guard lock(mutex_);
  shared_.time.notify(changed_);
}

void service_core::changed() noexcept {
  if (!closed_.load()) return;
  wake_closing();
  wind_down_if_done();
}

std::size_t service_core::calls_told_here() const noexcept {
  std::size_t found = 0;
  for (const auto* each = telling_end_; each != nullptr; each = each->outer_) found += each->core_ == this ? 1 : 0;
  return found;
}

void service_core::wind_down_if_done() noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (!finish_ || wound_down_ || grants_.any() || calls_ > 0) return;
    wound_down_ = true;
  }
  // Bodies have ended; now renewals stop, then the background tidies up, in the time that a release has, and ends last.
  const auto now = shared_.time.now();
  const auto end = now + shared_.options.release_limit;
  rows_.stop();
  cleanup_.stop();
  sessions_.stop();
  statements_.end_by(end);
  sessions_.retire_all(loss_reason::none, now);
  background_.begin_end(now, end);
}

void service_core::see_off(std::chrono::milliseconds limit) noexcept {
  if (serving_ == this) return;
  auto& clock = threads_->farewells();
  const auto end = clock.now() + shared_.options.release_limit;
  threads_->wait(limit);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock.now());
  // What connects may not be to be ended: it is left.
  connecting_->wait(std::max<std::chrono::milliseconds>(left, 50ms));
  connecting_->forsake();
}

void service_core::see_off_last() noexcept {
  if (!closed_.load()) return;
  {
    const base::lock_guard lock(mutex_);
    if (!wound_down_) return;
  }
  see_off(shared_.options.release_limit);
}

std::vector<std::string> service_core::close(std::chrono::milliseconds limit) {
  closed_.store(true);
  closing_.request_stop();
  const auto until = shared_.time.now() + limit;
  base::unique_lock lock(mutex_);
  const bool tells = calls_told_here() > 0;
  while ((grants_.any() || other_calls()) && shared_.time.now() < until) {
    if (tells && async_.has_completions()) {
      lock.unlock();
      async_.complete();
      lock.lock();
    } else {
      shared_.time.wait_until(changed_, lock.native(), until);
    }
  }
  lock.unlock();
  std::vector<std::string> keys;
  sessions_.for_each_grant([&](const grant& grant) {
    if (grant.state.load() == grant_state::held) keys.emplace_back(grant.key.view());
  });
  std::sort(keys.begin(), keys.end());
  return keys;
}

void service_core::take_back_all() {
  sessions_.refuse_grants();  // what is being granted comes before the list, or is given back
  std::vector<std::shared_ptr<grant>> held;
  sessions_.for_each_grant([&](const grant& grant) {
    if (auto alive = std::const_pointer_cast<engine::grant>(grant.weak_from_this().lock()))
      held.push_back(std::move(alive));
  });
  microseconds margin{0};
  const auto now = shared_.time.now();
  for (const auto& grant : held) {
    margin = std::max(margin, margin_for(grant->ttl, shared_.options.margin));
    grants_.lost(grant, loss_reason::closed, now);
  }
  if (held.empty() || serving_ == this) return;  // what this thread serves would wait for itself
  const auto until = now + margin + grant_registry::long_enough + shared_.options.release_limit;
  base::unique_lock lock(mutex_);
  while (background_.open_releases() > 0 && shared_.time.now() < until) {
    shared_.time.wait_until(changed_, lock.native(), until);
  }
}

void service_core::end(std::chrono::milliseconds limit) noexcept {
  try {
    close(0ms);  // nothing new from here on
    bool wait = other_calls();
    // What calls of this very thread hold won't end while it waits here. What is being released does.
    sessions_.for_each_grant([&](const grant& grant) {
      wait = wait || grant.state.load() != grant_state::held || !on_own_stack(grant.anchor.load());
    });
    if (wait && limit.count() > 0) {
      tell_held(fmt::format("the service ends, and waits up to {} ms for it", limit.count()));
      close(limit);
    }
    tell_held("the service has ended; it stays held until it is let go, or for at most its ttl after the process");
  } catch (const std::bad_alloc&) {
    // It waits, and says, less.
  }
  finish();
}

void service_core::tell_held(const std::string& text) {
  std::vector<std::pair<lock_key, std::uint64_t>> held;
  sessions_.for_each_grant([&](const grant& grant) {
    if (grant.state.load() == grant_state::held) held.emplace_back(grant.key, grant.fence_shown());
  });
  for (const auto& [key, fence] : held) {
    shared_.notify({.what = event::kind::still_held, .key = key.view(), .fence = fence, .text = text});
  }
}

void service_core::finish() noexcept {
  {
    const base::lock_guard lock(mutex_);
    finish_ = true;
  }
  wind_down_if_done();
  if (grants_.held() > 0 || calls_ > 0) return;
  see_off(farewell);
}

}  // namespace dlock::engine
