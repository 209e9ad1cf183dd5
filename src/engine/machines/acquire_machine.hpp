// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/lock_settings.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "engine/machines/backoff.hpp"
#include "engine/machines/starvation.hpp"

namespace dlock::engine {

/// The next step of an acquire.
enum class step {
  take,       ///< send verb::take
  poll,       ///< send verb::poll
  insert,     ///< send verb::insert
  remove,     ///< send session_verb::remove_expired for holder().holder
  take_over,  ///< send verb::take_over naming holder()
  close,      ///< send verb::close
  pause,      ///< wait for pause() or a cancellation
  resolve,    ///< the last statement may still run: wait for its end and cancel its nonce, or leave that to the
              ///< background
  give_back,  ///< granted, but too late to be trusted: release it
  granted,    ///< done: ours, with fence()
  busy,       ///< done: not ours, nothing wrong
  failed,     ///< done: see why()
};

/// One acquire of one key, as a table of transitions: no clock, thread or SQL; replies and time are handed in.
///
///   begin -> take                    yes -> granted | give_back               no to a take -> poll
///   poll:  absent -> insert          free, or own expiry over -> take         else busy -> pause -> poll ...
///          session of the holder:    gone -> take_over                        expired -> remove -> take_over
///   poll of a key with members:
///          dead member: gone -> take_over -> poll     expired -> remove -> take_over -> poll
///          shares: others must leave -> as busy       else -> take
///          exclusive: open, or closed for long -> close -> poll     members -> as busy     none -> take
///   close that shows the members: as their poll
///   failed: contended take -> poll   contended otherwise -> as busy     transient -> pause -> poll   else -> failed
///   unknown -> resolve -> pause -> poll; but of a poll or a removal -> pause -> poll
///   notified, while it pauses, that the key may be free -> take
///   poll shows a holder, and others have passed the waiter over for long -> take, some times at once, then as busy
///
/// Every round ends at the deadline: the last pause is cut short, then comes one last poll (never held and refused, nor
/// granted and forgotten).
class acquire_machine {
 public:
  struct settings {
    instant deadline{};       ///< of the whole wait
    bool once = false;        ///< one attempt, whatever the deadline
    bool poll_first = false;  ///< the key is known to be contended
    detail::retry_settings retry{};
    std::uint64_t seed = 0;
    bool patient = false;  ///< it has just held the key for long, so pauses begin with the longest
    unsigned rivals = 0;   ///< tenure_tracker::rivals()
    /// This process had to wait for the key a moment ago, and a release wakes registered waiters. So after a refused
    /// take it pauses, and registers, before it polls.
    bool registers_first = false;
    bool shares = false;  ///< it asks for a shared lock or permits
  };

  explicit acquire_machine(const settings& given) noexcept;

  step begin() noexcept;
  /// Begins after an attempt that was busy or failed just now: as if this one had, so with a pause.
  step begin_after(const acquire_machine& other, instant now);
  /// Handles the reply to the last step's statement. `trusted_until` is until when a grant by it may be trusted. `took`
  /// is how long the reply took.
  step replied(const reply& answer, instant now, instant trusted_until, std::chrono::microseconds took = {});
  /// The last step's statement was not executed: it failed, or could not be sent.
  step not_done(const fault& why, instant now);
  step paused() noexcept { return last_ = step::poll; }
  /// The pause is over because the key may be free.
  step notified() noexcept;
  step resolved(instant now) { return trouble(now); }
  step given_back(instant now);

  const seen& holder() const noexcept { return holder_; }
  const fault& why() const noexcept { return why_; }
  bool outcome_unknown() const noexcept { return unknown_; }
  /// During a pause: the key is held, or its row is locked; otherwise there was a transient failure.
  bool waits_for_holder() const noexcept { return waits_for_holder_; }
  /// The remaining retries of retry_settings::limit.
  unsigned remaining_retries() const noexcept { return retries_.remaining_retries(); }
  std::chrono::microseconds pause() const noexcept { return retries_.pause(); }
  /// The pause of a waiter that the store notifies when the key may be free.
  std::chrono::microseconds pause_if_notified() const noexcept { return retries_.pause_if_notified(); }
  /// The pause of a waiter that a release wakes if it looks for waiters.
  std::chrono::microseconds pause_if_registered(instant now) const noexcept {
    return retries_.pause_if_registered(until_relied_on(now));
  }
  /// Likewise: the release of the grant that was polled last looks for waiters.
  bool relies_on_release(instant now) const noexcept {
    return settings_.registers_first || until_relied_on(now).count() <= 0;
  }
  /// A take no longer has to yield to waiters that have waited longer.
  bool overtakes() const noexcept { return overtakes_; }
  /// Whether the last poll saw no holder, but an open transaction has the row of the key locked.
  bool row_locked() const noexcept { return row_locked_ && !holder_.holder; }
  /// How long a notified waiter yields to other waiters that were passed over more often.
  std::chrono::microseconds courtesy() const noexcept { return starvation_.courtesy(settings_.rivals); }
  std::uint64_t fence() const noexcept { return fence_; }
  bool taken_over() const noexcept { return taken_over_; }
  unsigned statements() const noexcept { return statements_; }
  bool has_paused() const noexcept { return has_paused_; }

 private:
  /// Each member that leaves looks for waiters, and so does the caller that has closed the key.
  std::chrono::microseconds until_relied_on(instant now) const noexcept {
    if (holder_.shared != membership::none) return std::chrono::microseconds{0};
    return starvation_.until_relied_on(now);
  }
  step go(step next) noexcept { return last_ = next; }
  step refused(instant now);
  step polled(const reply& answer, instant now);
  step granted(const reply& answer, instant now, instant trusted_until);
  step closed(const reply& answer, instant now);
  step polled_members(instant now);
  step again_at_once(step next, instant now);
  step busy(instant now, std::chrono::microseconds remaining, bool sees_holder);
  /// As busy(), after the present holder was seen.
  step held(instant now);
  /// As busy(), when the present holder was not seen.
  step busy_unseen(instant now) { return busy(now, retry_clock::no_bound, false); }
  step trouble(instant now);
  /// The waiters ahead of us have had their turn for longer than `longest_turn`.
  bool turn_is_over(instant now) noexcept;
  step pause_before_retry(instant now, std::chrono::microseconds at_most, bool sees_holder);

  settings settings_;
  retry_clock retries_;
  starvation_detector starvation_{};
  seen holder_{};
  fault why_{};
  bool unknown_ = false;
  bool waits_for_holder_ = false;
  bool has_closed_ = false;  // since the last poll
  std::optional<std::pair<std::uint64_t, std::uint64_t>>
      said_in_{};  // the closing in which it did so: fence and number
  step last_ = step::take;
  bool row_locked_ = false;
  bool has_paused_ = false;
  std::uint64_t fence_ = 0;
  unsigned statements_ = 0;
  unsigned at_once_ = 0;  // rounds without a pause since the last one
  bool insists_ = false;  // since the last pause: a refused take shows that the key is held
  bool taken_over_ = false;
  std::uint64_t left_fence_ = 0;  // of the last holder, while others have their turn
  instant overtakes_at_{};        // deadline by which they must take it
  bool overtakes_ = false;
};

}  // namespace dlock::engine
