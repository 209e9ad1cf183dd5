// SPDX-License-Identifier: BSL-1.0
// The last resort of an acquire of several keys: one by one, in the order of all processes.
#include "engine/operations/lock_errors.hpp"
#include "engine/operations/multi_acquisition.hpp"

namespace dlock::engine {

action multi_acquisition::one_by_one(action next, instant now) {
  for (;;) {
    if (single_) {
      if (next.what != action::kind::finished) return next;
      static_cast<acquisition::acquired&>(places_[at_]) = single_->result(now);
      if (places_[at_].held == nullptr) {
        why_busy_ = single_->why_busy(now);
        return follow(multi_step::busy, now);
      }
      single_.reset();
    }
    for (at_ = 0; at_ < keys_.size() && places_[at_].held != nullptr;) ++at_;
    if (at_ == keys_.size()) break;
    doing_ = doing::one_by_one;
    single_.emplace(with_, keys_[at_],
                    lock_request(terms_, request_.owner, request_.named, request_.begun, {.once = request_.once}),
                    woken_, nullptr, true);
    next = single_->start(now);
  }
  at_ = 0;
  return extend_all(false, now);
}

/// Those with an expiry of their own get the same one; those that are kept must still be held.
action multi_acquisition::extend_all(bool resumed, instant now) {
  try {
    if (resumed) extension_->resume(now);
    for (at_ += resumed ? 1 : 0; at_ < keys_.size(); ++at_) {
      const auto& here = places_[at_];
      if (here.entered_again) continue;
      if (here.held->kind != lease_kind::expiring || at_ + 1 == keys_.size()) {
        ensure_held(*here.held, now);
        continue;
      }
      doing_ = doing::extending;
      extension_.emplace(with_, here.held, here.held->ttl);
      return extension_->start(now);
    }
  } catch (const lock_lost&) {
    // Those with a short expiry of their own may end while the others are waited for.
    drop_new(now);
    return now >= request_.deadline ? follow(multi_step::busy, now) : one_by_one({}, now);
  }
  return follow(multi_step::granted, now);
}

}  // namespace dlock::engine
