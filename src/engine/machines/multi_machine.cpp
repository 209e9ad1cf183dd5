// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/multi_machine.hpp"

namespace dlock::engine {

namespace {
bool seen_alive(const seen& holder) noexcept { return holder.holder && holder.remaining.count() > 0; }

std::chrono::microseconds bound(const seen& holder) noexcept {
  return seen_alive(holder) ? holder.remaining : retry_clock::no_bound;
}

/// Not of holders that a store doesn't show.
bool same_grant(const seen& a, const seen& b) noexcept {
  return a.holder && a.holder == b.holder && a.fence == b.fence && a.nonce == b.nonce;
}
}  // namespace

bool multi_machine::holds(const seen& holder) noexcept {
  return holder.holder && !holder.expired && !(holder.kind == lease_kind::session && holder.gone);
}

multi_step multi_machine::taken(instant now, instant trusted_until) {
  if (now < trusted_until) return multi_step::granted;
  return troubled(0, {.transient = true, .text = "the grants were answered too late to be trusted"}, false);
}

void multi_machine::is_about(std::size_t key) noexcept {
  if (key != key_) starvation_ = {};
  key_ = key;
}

multi_step multi_machine::refused(std::size_t key, const seen& holder) {
  // A round that finds the same grant once more was begun by a notification that meant something else.
  if (rounds_ == 0 || key != key_ || !same_grant(holder, holder_)) ++rounds_;
  is_about(key);
  holder_ = holder;
  why_ = fault{};
  unknown_ = hopeless_ = false;
  waits_for_holder_ = true;
  return multi_step::give_back;
}

multi_step multi_machine::troubled(std::size_t key, const fault& why, bool unknown) {
  is_about(key);
  why_ = why;
  if (why_.text.empty()) why_.text = "failed for no stated reason";
  unknown_ = unknown;
  // An attempt without an outcome has been resolved: it may be made anew.
  hopeless_ = !unknown && !why.transient && !why.connection;
  waits_for_holder_ = false;
  return multi_step::give_back;
}

multi_step multi_machine::given_back(instant now) {
  if (waits_for_holder_) starvation_.polled(holder_, now);
  if (hopeless_ || !retries_.may_retry(now)) return waits_for_holder_ ? multi_step::busy : multi_step::failed;
  if (waits_for_holder_ && rounds_ >= rounds_together) return multi_step::one_by_one;
  return pause_before_retry(now, waits_for_holder_ ? bound(holder_) : retry_clock::no_bound);
}

multi_step multi_machine::notified() noexcept {
  retries_.notified();
  return multi_step::take;
}

multi_step multi_machine::polled(const reply& answer, instant now) {
  if (answer.result == outcome::failed || answer.result == outcome::unknown) {
    if (!answer.why.contended) {
      // Nothing was left behind by a poll, and nothing is held.
      troubled(key_, answer.why, false);
      hopeless_ = hopeless_ && answer.result == outcome::failed;
      return hopeless_ || !retries_.may_retry(now) ? multi_step::failed
                                                   : pause_before_retry(now, retry_clock::no_bound);
    }
  } else if (answer.result != outcome::yes || !holds(answer.holder)) {
    return multi_step::take;
  } else {
    holder_ = answer.holder;
    starvation_.polled(holder_, now);
  }
  return retries_.may_retry(now) ? pause_before_retry(now, bound(holder_)) : multi_step::busy;
}

multi_step multi_machine::pause_before_retry(instant now, std::chrono::microseconds at_most) {
  retries_.begin_pause(now, at_most, starvation_.hurries(), waits_for_holder_ && seen_alive(holder_));
  return multi_step::pause;
}

}  // namespace dlock::engine
