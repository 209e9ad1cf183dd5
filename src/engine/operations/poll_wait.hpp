// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>

#include "engine/operations/engine_services.hpp"
#include "engine/operations/operation.hpp"

namespace dlock::engine {

/// A part of an operation: the pause between two polls at a busy key, and the poll that ends it. The poll may be sent
/// earlier, and by another operation, with its own (see poll_scheduler).
class poll_wait final : private pause {
 public:
  poll_wait(engine_services& services, waker& woken) : pause(services.pauses), services_(services), woken_(woken) {}
  poll_wait(const poll_wait&) = delete;
  poll_wait& operator=(const poll_wait&) = delete;
  ~poll_wait() { end(); }

  /// Pauses until `until`, then sends `then`; null: nothing. `turn`: of the key; those in the queue may shorten the
  /// pause. Finished: the poll has been answered, or the time has come, or it was interrupted.
  action start(queue_turn& turn, statement* then, instant until, instant now);
  action resume(instant now);
  action interrupt(instant now) noexcept;

  bool interrupted() const noexcept { return interrupted_; }
  /// Any thread: this pause, or the next one, is over without a poll.
  void tell() noexcept;
  /// What was told meanwhile does not end the next pause.
  void forget() noexcept { notified_ = false; }
  /// Whether that ended the last one.
  bool was_notified() const noexcept { return was_notified_; }

 private:
  void wake() noexcept override { woken_.wake(); }
  void end() noexcept;

  engine_services& services_;
  waker& woken_;
  queue_turn* turn_ = nullptr;  // while it pauses
  std::array<statement*, 1> sent_{};
  std::atomic<bool> notified_{false};
  bool was_notified_ = false;
  bool sends_ = false;
  bool interrupted_ = false;
};

}  // namespace dlock::engine
