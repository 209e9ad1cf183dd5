// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/key_watch.hpp"

#include <utility>

namespace dlock::engine {

void key_watch::begin(const lock_key& key, const id128& session) noexcept {
  if (!with_.caps.tells_free || key.row() != nullptr) return;
  if (key_ == &key && session_ == session && !stopped_) return;
  end();
  stopped_ = false;
  key_ = &key;
  session_ = session;
  with_.statements.where().watch(key.view(), session, *this);
}

void key_watch::end() noexcept {
  const auto* const key = std::exchange(key_, nullptr);
  if (key == nullptr) return;
  with_.statements.where().unwatch(key->view(), session_, *this);
  works_ = false;
}

}  // namespace dlock::engine
