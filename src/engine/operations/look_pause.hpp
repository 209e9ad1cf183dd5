// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>

#include "engine/operations/operation.hpp"
#include "engine/operations/parts.hpp"

namespace dlock::engine {

/// A part of an operation: the pause between two looks at a busy key, and the look that ends it. The look may be sent
/// earlier, and by another operation, with its own (see pause_watch).
class look_pause final : private pause {
 public:
  look_pause(parts& with, waker& woken) : pause(with.pauses), with_(with), woken_(woken) {}
  look_pause(const look_pause&) = delete;
  look_pause& operator=(const look_pause&) = delete;
  ~look_pause() { end(); }

  /// Pauses until `until`, then sends `then`; null: nothing. `turn`: of the key; those in line may shorten the pause.
  /// Finished: the look has been answered, or the time has come, or it was interrupted.
  action start(queue_turn& turn, statement* then, instant until, instant now);
  action resume(instant now);
  action interrupt(instant now) noexcept;

  bool interrupted() const noexcept { return interrupted_; }
  /// Any thread: this pause, or the next one, is over without a look.
  void tell() noexcept;
  /// Whether that ended the last one.
  bool was_told() const noexcept { return was_told_; }

 private:
  void wake() noexcept override { woken_.wake(); }
  void end() noexcept;

  parts& with_;
  waker& woken_;
  queue_turn* turn_ = nullptr;  // while it pauses
  std::array<statement*, 1> sent_{};
  std::atomic<bool> told_{false};
  bool was_told_ = false;
  bool sends_ = false;
  bool interrupted_ = false;
};

}  // namespace dlock::engine
