// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>

#include "base/mutex.hpp"
#include "dlock/store_interface/clock.hpp"
#include "engine/registry/deadline_heap.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

class poll_scheduler;

/// A waiter between two polls of a busy key.
class pause : public statement_owner {
 public:
  explicit pause(poll_scheduler& in) noexcept : in_(in) {}
  /// Its end has changed, or its poll was answered. Called under a lock, so it may only signal.
  virtual void wake() noexcept = 0;
  void answered(statement&) noexcept final;
  /// Ends the pause no later than `until`. Any thread, also after the pause has left the scheduler.
  void shorten(instant until) noexcept;

  statement* poll = nullptr;  ///< the statement to send at the end, or null
  /// The poll, which is sent now. It has the time of a statement, however long the pause was.
  statement* poll_now(instant now) noexcept {
    poll->queue_deadline = std::max(poll->queue_deadline, now + poll->timeout);
    return poll;
  }

 protected:
  ~pause() = default;

 private:
  friend class poll_scheduler;
  enum class state : std::uint8_t { outside, waiting, polling, polled };
  poll_scheduler& in_;
  // Guarded by the scheduler:
  instant until_{};
  state state_ = state::outside;
  deadline_heap<pause>::link timer_{};
};

/// All waiters between two polls. When the pause of one ends, those whose pause ends soon poll with it by the same
/// statement, so the number of polls does not grow with the number of keys that the process waits for. Thread safety:
/// all functions from any thread.
class poll_scheduler {
 public:
  static constexpr std::size_t most_polls = 63;
  using polls = std::array<statement*, most_polls>;

  explicit poll_scheduler(time_source& time) noexcept : time_(time) {}

  void enter(pause& pause, instant now, instant until) noexcept;
  /// Returns false if another waiter has sent its poll, whose answer will wake it. Otherwise the pause is over.
  bool leave(pause& pause) noexcept;
  /// Does the same, but waits for a pending answer, so that no other thread uses the pause and its poll any more.
  void leave_for_good(pause& pause) noexcept;
  /// Removes those that end now or soon. `found` gets their polls, which the caller must send. Returns their number.
  std::size_t due(instant now, polls& found) noexcept;
  /// When it ends, as known now.
  instant end_of(const pause& pause) const noexcept;
  /// Whether another waiter has sent its poll, and it was answered.
  bool polled(const pause& pause) const noexcept;

 private:
  friend class pause;
  time_source& time_;
  mutable base::mutex mutex_;
  std::condition_variable answered_{};
  std::size_t awaited_ DLOCK_GUARDED_BY(mutex_) = 0;  // pauses that leave for good
  // The pauses with a poll, by the earliest time at which they may end.
  deadline_heap<pause> pauses_ DLOCK_GUARDED_BY(mutex_){&pause::timer_};
};

}  // namespace dlock::engine
