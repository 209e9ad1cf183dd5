// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/acquire_machine.hpp"

#include <algorithm>
#include <utility>

namespace dlock::engine {

namespace {
/// A row that is free at each poll and taken at each take is contended: after this many rounds it counts as busy.
constexpr unsigned rounds_at_once = 3;
/// Where each round may remove the members of one dead session.
constexpr unsigned rounds_with_members = 64;
/// A process that has not taken the key this long after its turn has come, with fairness::fifo, may be stopped.
constexpr std::chrono::microseconds longest_turn = std::chrono::seconds{1};
}  // namespace

acquire_machine::acquire_machine(const settings& given) noexcept
    : settings_(given),
      retries_({.deadline = given.deadline, .once = given.once, .retry = given.retry, .seed = given.seed}) {
  if (given.patient) retries_.grow();
}

step acquire_machine::begin() noexcept { return go(settings_.poll_first ? step::poll : step::take); }

step acquire_machine::begin_after(const acquire_machine& other, instant now) {
  last_ = step::poll;
  holder_ = other.holder_;
  why_ = other.why_;
  unknown_ = other.unknown_;
  if (!other.waits_for_holder_) return trouble(now);
  if (!holder_.holder) return busy_unseen(now);
  starvation_.polled(holder_, now);
  return held(now);
}

step acquire_machine::replied(const reply& answer, instant now, instant trusted_until, std::chrono::microseconds took) {
  ++statements_;
  if (last_ == step::poll) starvation_.poll_took(took);
  if (last_ != step::poll) row_locked_ = answer.result == outcome::failed && answer.why.contended;
  switch (answer.result) {
    case outcome::unknown:
      why_ = answer.why;
      if (why_.text.empty()) why_.text = "no answer";
      // A poll or a removal without a reply leaves nothing that a cancel could undo.
      if (last_ == step::poll || last_ == step::remove || last_ == step::close) return trouble(now);
      unknown_ = true;
      return go(step::resolve);
    case outcome::failed: return not_done(answer.why, now);
    case outcome::yes:
      if (last_ == step::poll) return polled(answer, now);
      if (last_ == step::remove) return go(step::take_over);
      if (last_ == step::close) return closed(answer, now);
      return granted(answer, now, trusted_until);
    case outcome::absent: return again_at_once(step::insert, now);
    case outcome::no: break;
  }
  return refused(now);
}

step acquire_machine::notified() noexcept {
  retries_.notified();
  starvation_.notified();
  return go(step::take);
}

step acquire_machine::refused(instant now) {
  switch (last_) {
    case step::take:
      if (settings_.registers_first && !settings_.once && !has_paused_) return busy_unseen(now);
      return insists_ ? held(now) : go(step::poll);
    // The session is not expired any more, or another taker removed it: the take-over checks again (rule 2).
    case step::remove: return go(step::take_over);
    case step::insert: return again_at_once(step::take, now);
    case step::close: return again_at_once(step::poll, now);
    case step::take_over:
      if (holder_.shared != membership::none) return again_at_once(step::poll, now);  // dead members were removed
      return busy_unseen(now);
    default: return busy_unseen(now);
  }
}

step acquire_machine::polled(const reply& answer, instant now) {
  holder_ = answer.holder;
  overtakes_ = false;
  if (holder_.shared != membership::none) return polled_members(now);
  has_closed_ = false;
  starvation_.polled(holder_, now);
  if (holder_.others_first && !(overtakes_ = turn_is_over(now))) return busy(now, overtakes_at_ - now, true);
  if (!holder_.holder) return again_at_once(step::take, now);
  if (holder_.kind != lease_kind::session) {
    return holder_.expired ? again_at_once(step::take, now) : held(now);
  }
  if (holder_.gone) return again_at_once(step::take_over, now);
  if (holder_.expired) return again_at_once(step::remove, now);
  return held(now);
}

/// A store may show the members at once, as a poll does.
step acquire_machine::closed(const reply& answer, instant now) {
  has_closed_ = true;
  return answer.holder.shared != membership::none ? polled(answer, now) : again_at_once(step::poll, now);
}

step acquire_machine::polled_members(instant now) {
  const bool closed = holder_.shared == membership::closed;
  const std::pair closing{holder_.fence, holder_.closing};
  if (std::exchange(has_closed_, false) && closed) said_in_ = closing;
  if (holder_.holder && holder_.gone) return again_at_once(step::take_over, now);
  if (holder_.holder && holder_.expired) return again_at_once(step::remove, now);
  // Each caller that waits closes the key itself, so that it stays closed when another one gives up.
  const bool unsaid = closed && holder_.holder && said_in_ != closing && retries_.may_retry(now);
  if (!settings_.shares && (!closed || holder_.stale || unsaid)) {
    // An attempt that does not wait must not keep readers out.
    return holder_.holder && !retries_.may_retry(now) ? busy(now, holder_.remaining, true)
                                                      : again_at_once(step::close, now);
  }
  return holder_.holder ? busy(now, holder_.remaining, true) : again_at_once(step::take, now);
}

bool acquire_machine::turn_is_over(instant now) noexcept {
  if (overtakes_at_ == instant{} || left_fence_ != holder_.fence) {
    left_fence_ = holder_.fence;
    overtakes_at_ = now + longest_turn;
  }
  return now >= overtakes_at_;
}

step acquire_machine::granted(const reply& answer, instant now, instant trusted_until) {
  fence_ = answer.fence;
  taken_over_ = last_ == step::take_over;
  // Rule 4: judged by the session that the request named.
  return go(now < trusted_until ? step::granted : step::give_back);
}

step acquire_machine::given_back(instant now) {
  why_ = {.transient = true, .text = "the grant was answered too late to be trusted"};
  unknown_ = false;
  return trouble(now);
}

step acquire_machine::not_done(const fault& why, instant now) {
  if (why.contended) {
    // A statement or transaction has the row locked for now. A poll shows whether the key is held, and by whom.
    return last_ == step::take ? again_at_once(step::poll, now) : busy_unseen(now);
  }
  why_ = why;
  if (why_.text.empty()) why_.text = "failed for no stated reason";
  if (why.transient || why.connection) return trouble(now);
  return go(step::failed);
}

step acquire_machine::again_at_once(step next, instant now) {
  const auto most = holder_.shared != membership::none ? rounds_with_members : rounds_at_once;
  return ++at_once_ <= most ? go(next) : busy_unseen(now);
}

step acquire_machine::busy(instant now, std::chrono::microseconds remaining, bool sees_holder) {
  // Once the store replies, an earlier failure no longer explains why the wait ends in vain.
  why_ = fault{};
  unknown_ = false;
  waits_for_holder_ = true;
  return retries_.may_retry(now) ? pause_before_retry(now, remaining, sees_holder) : go(step::busy);
}

step acquire_machine::held(instant now) {
  const bool members = settings_.shares || holder_.shared != membership::none;
  if (members || now >= settings_.deadline || !starvation_.insists(now)) return busy(now, holder_.remaining, true);
  insists_ = true;
  return go(step::take);
}

step acquire_machine::trouble(instant now) {
  waits_for_holder_ = false;
  return retries_.may_retry(now) ? pause_before_retry(now, retry_clock::no_bound, false) : go(step::failed);
}

step acquire_machine::pause_before_retry(instant now, std::chrono::microseconds at_most, bool sees_holder) {
  retries_.begin_pause(now, at_most, starvation_.hurries(), sees_holder);
  at_once_ = 0;
  starvation_.paused();
  insists_ = false;
  has_paused_ = true;
  return go(step::pause);
}

}  // namespace dlock::engine
