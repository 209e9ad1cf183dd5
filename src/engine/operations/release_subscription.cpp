// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/release_subscription.hpp"

#include "engine/books/nested_wait.hpp"

namespace dlock::engine {

void release_subscription::begin(const lock_key& key, const id128& session) noexcept {
  if (!services_.caps.wakes_one && (!services_.caps.tells_free || key.row() != nullptr)) return;
  if (key_ == &key && session_ == session && !stopped_) return;
  end();
  stopped_ = changed_ = false;
  key_ = &key;
  session_ = session;
  services_.statements.where().watch(key.view(), session, *this);
}

void release_subscription::list_held(std::vector<lock_held_meanwhile>& all) const {
  // The text of a row may be that of a key as well, which is another lock.
  if (key_->row() == nullptr) nested_wait::list_held(services_.statements.where(), *key_, all);
}

void release_subscription::closes_circle(std::string_view held, std::span<const circle_link> others) noexcept {
  nested_wait::closes_circle(services_.statements.where(), *key_, held, others);
}

void release_subscription::end() noexcept {
  if (key_ == nullptr) return;
  services_.statements.where().unwatch(key_->view(), session_, *this);
  key_ = nullptr;  // not before: until then the store may ask about it
  works_ = false;
  pause_.forget();
}

}  // namespace dlock::engine
