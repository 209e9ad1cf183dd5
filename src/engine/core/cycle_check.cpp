// SPDX-License-Identifier: BSL-1.0
#include "engine/core/cycle_check.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "engine/registry/owner_state.hpp"

namespace dlock::engine {

namespace {

/// Adds what the thread's own owner holds, in all services.
std::vector<nested_wait::held_lock> held_here(std::vector<nested_wait::held_lock> all) {
  const auto& owner = *current_owner();
  if (owner.grants.load(std::memory_order_relaxed) == 0) return all;
  for (const auto& core : service_core::living()) {
    std::vector<std::shared_ptr<grant>> found;
    core->all().table.find_own(owner, found);
    for (auto& each : found) all.push_back({.held = std::move(each), .where = &core->where()});
  }
  return all;
}

}  // namespace

bool cycle_check::needed(bool several, const detail::lock_settings& terms) noexcept {
  return !in_owner_scope() && !terms.retry.limited() &&
         (several || current_owner()->grants.load(std::memory_order_relaxed) > 0);
}

wait_check::verdict cycle_check::check(const operation& op, const lock_key& key) noexcept {
  try {
    std::vector<nested_wait::held_lock> taken;
    op.list_taken(taken);
    if (key_ == &key && taken == taken_) {
      cycle_ = wait_.cycle();
    } else {
      end();
      auto held = held_here(taken);
      cycle_ = wait_.begin({.where = &core_.where(), .key = &key, .until = until_}, std::move(held));
      taken_ = std::move(taken);
      key_ = &key;
      tell_store(wait_.keys_ahead());
    }
    if (cycle_.empty()) return verdict::waits_on;
    refused_ = &key;
    return verdict::never_ends;
  } catch (const std::bad_alloc&) {
    return verdict::unknown;
  }
}

std::string cycle_check::tell() const {
  const auto here = fmt::format("another thread of {}/{}", core_.shared().host, core_.shared().pid);
  std::string text = "the wait would never end: ", held = "it";
  for (const auto& [who, waits_for] : cycle_) {
    const auto next = fmt::format("'{}'", detail::printable_text(waits_for));
    text += fmt::format("{} holds {} and waits for {}; ", who.empty() ? here : who, held, next);
    held = next;
  }
  text += fmt::format("the calling thread holds {}", held);
  std::vector<std::string_view> keys;
  for (const auto& each : cycle_) keys.push_back(each.waits_for);
  core_.shared().notify({.what = event::kind::deadlock, .key = refused_->view(), .text = text, .keys = keys});
  return fmt::format("key '{}': {}", printable(*refused_), text);
}

void cycle_check::end() noexcept {
  const auto keys = wait_.keys_ahead();
  wait_.end();
  key_ = nullptr;
  taken_.clear();
  tell_store(keys);
}

void cycle_check::tell_store(const std::vector<std::string>& keys) const noexcept {
  for (const auto& each : keys) core_.where().waiters_changed(each);
}

}  // namespace dlock::engine
