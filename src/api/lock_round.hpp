// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/lock_settings.hpp"
#include "dlock/lock_key.hpp"
#include "engine/machines/backoff.hpp"
#include "engine/wait_queue.hpp"

namespace dlock::detail {

/// How one thread takes mutexes one after the other, as std::lock() and std::scoped_lock do: it waits for one, tries the
/// others, and when one of them is busy it lets all go and begins with that. Threads that do so with the same mutexes get
/// in each other's way for ever, and each time a key is taken and released for nothing.
///
/// So a round that failed is remembered: which keys belong together. The thread's next rounds with them stand in line for
/// all of them, behind other threads of this process that do the same, before they begin; and what such a round tries may
/// be waited for a moment. That costs no statement, and leaves none for nothing. It is a courtesy only: nobody waits in that
/// line for longer than `patience`, whoever is in front and whatever he does. Where another process was in the way, the next
/// round begins after a pause of random length.
///
/// Thread safety: each thread has one of its own, here().
class lock_round {
 public:
  static constexpr std::chrono::microseconds patience = std::chrono::milliseconds{100};

  lock_round() = default;
  lock_round(const lock_round&) = delete;
  lock_round& operator=(const lock_round&) = delete;
  ~lock_round() { leave_line(); }

  static lock_round& here();

  /// lock() is to begin with that key; `limit`: how long it may wait in all.
  void begin(const lock_key& key, std::chrono::microseconds limit);
  /// How long it is to pause before that.
  std::chrono::microseconds pause(const retry_settings& retry, std::uint64_t seed);
  /// lock() has it.
  void locked(const lock_key& key);
  /// How long try_lock() of that key may stand in line.
  std::chrono::microseconds may_wait(const lock_key& key) const noexcept;
  /// try_lock() has it.
  void got(const lock_key& key);
  /// It was busy; `here`: another thread of this process has it.
  void refused(const lock_key& key, bool here);
  void unlocked(const lock_key& key) noexcept;
  /// Something else than a round happened: an error, another call.
  void other() noexcept;

  /// Which keys belong together, as far as that is known; in their order.
  const std::vector<lock_key>& together() const noexcept { return together_; }
  bool in_line() const noexcept { return !turns_.empty(); }

 private:
  void stand_in_line(std::chrono::microseconds limit);
  void leave_line() noexcept;
  bool belongs(const lock_key& key) const noexcept;
  void join();

  std::vector<lock_key> mine_{};             // locked in this round
  std::vector<lock_key> together_{};         // in the one order of keys; empty: nothing known
  std::vector<engine::queue_turn> turns_{};  // of the first so many of them
  std::optional<engine::backoff> pauses_{};  // since another process was in the way
  bool pause_next_ = false;
};

}  // namespace dlock::detail
