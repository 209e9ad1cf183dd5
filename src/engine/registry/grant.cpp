// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/grant.hpp"

namespace dlock::engine {

const char grant::by_mutex = 0;

grant::grant(std::shared_ptr<service_core> core, lock_key name) : home(std::move(core)), key(std::move(name)) {}

grant::~grant() { delete lost_.load(std::memory_order_acquire); }

std::shared_ptr<grant> grant::alive() noexcept {
  try {
    return shared_from_this();  // avoids the copy of the weak pointer that weak_from_this() makes
  } catch (const std::bad_weak_ptr&) {
    return nullptr;
  }
}

microseconds grant::remaining(instant now) noexcept {
  if (state.load(std::memory_order_acquire) != grant_state::held) return microseconds{0};
  if (deadline == nullptr) return pin->deadline.remaining(now);
  const auto cap = deadline->cap;
  if (now >= cap) return microseconds{0};
  const auto kept = kind == lease_kind::session ? pin->deadline.remaining(now) : deadline->own_end.remaining(now);
  return cap == instant::max() ? kept : std::min(kept, microseconds{cap - now});
}

bool grant::outlives(instant now) noexcept {
  return (kind == lease_kind::session ? pin->deadline : deadline->own_end).remaining(now) > microseconds{0};
}

loss_reason grant::why(instant now) noexcept {
  if (const auto known = reason.load(std::memory_order_acquire); known != loss_reason::none) return known;
  if (deadline != nullptr && now >= deadline->cap) return loss_reason::max_hold;
  if (kind == lease_kind::column) return loss_reason::unreachable;  // the engine renews it
  if (kind != lease_kind::session) return loss_reason::expired;
  const auto end = pin->why.load(std::memory_order_acquire);
  return end == loss_reason::none ? loss_reason::unreachable : end;
}

void grant::set_reason(loss_reason why) noexcept {
  auto none = loss_reason::none;
  reason.compare_exchange_strong(none, why);
}

// Both sides are sequentially consistent: of a holder that asks for its token and a thread that notifies it at the same
// time, at least one sees the other's store.

std::stop_token grant::lost_token() {
  auto* source = lost_.load();
  if (source == nullptr) {
    auto mine = std::make_unique<std::stop_source>();
    if (lost_.compare_exchange_strong(source, mine.get())) source = mine.release();
  }
  if (notice.load() != loss_notice::none) source->request_stop();
  return source->get_token();
}

void grant::notify_holder() noexcept {
  notice.store(loss_notice::begun);
  if (auto* const source = lost_.load()) source->request_stop();
  notice.store(loss_notice::done);
}

}  // namespace dlock::engine
