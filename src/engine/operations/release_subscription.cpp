// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/release_subscription.hpp"

#include <utility>

namespace dlock::engine {

void release_subscription::begin(const lock_key& key, const id128& session) noexcept {
  if (!(services_.caps.tells_free || services_.caps.wakes_one) || key.row() != nullptr) return;
  if (key_ == &key && session_ == session && !stopped_) return;
  end();
  stopped_ = changed_ = false;
  key_ = &key;
  session_ = session;
  services_.statements.where().watch(key.view(), session, *this);
}

void release_subscription::end() noexcept {
  const auto* const key = std::exchange(key_, nullptr);
  if (key == nullptr) return;
  services_.statements.where().unwatch(key->view(), session_, *this);
  works_ = false;
}

}  // namespace dlock::engine
