// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>

#include "base/lock_settings.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "engine/machines/backoff.hpp"

namespace dlock::engine {

/// What an acquire of several keys wants done next.
enum class multi_step {
  take,        ///< a round: take all keys, those refused by the rules of one key; stop at the first that is busy
  give_back,   ///< free whatever this round took
  pause,       ///< wait for pause() or a cancellation, holding nothing
  poll,        ///< poll busy_key()
  one_by_one,  ///< take them in their order, each as one key is, holding those before it, until the deadline
  granted,     ///< done: all are ours
  busy,        ///< done: busy_key() is not to be had, nothing is held
  failed,      ///< done: see why(), nothing is held
};

/// One acquire of several keys, as a table of transitions: no clock, thread or SQL. All or nothing, under one deadline.
///
///   begin -> take     all ours -> granted      too late to be trusted, a key busy, or trouble -> give_back
///   given back:  busy -> pause, after the third such round one_by_one
///                late, trouble -> pause        else -> failed
///   paused:  busy -> poll      trouble -> take      notified that the busy key may be free -> take
///   poll:    still busy -> pause       free, or its holder is dead -> take        trouble -> pause
///
/// Waiting holds nothing, so two such acquires can't wait for each other, and a key that is waited for is only read.
/// Two that keep getting in each other's way are separated by one_by_one, whose order is that of all processes.
class multi_machine : public waiting_machine {
 public:
  using settings = retry_clock::settings;
  /// So many rounds may find a key busy that others take back and forth, each time by another grant.
  static constexpr unsigned rounds_together = 3;

  explicit multi_machine(const settings& given) noexcept : waiting_machine(given) {}

  multi_step begin() noexcept { return multi_step::take; }
  /// All were taken; until when that may be trusted.
  multi_step taken(instant now, instant trusted_until);
  /// The round ended at a key that is busy; `holder`: its holder, if it was seen.
  multi_step refused(std::size_t key, const seen& holder);
  /// The round ended at a key that could not be asked for.
  multi_step troubled(std::size_t key, const fault& why, bool unknown);
  multi_step given_back(instant now);
  multi_step paused() noexcept { return waits_for_holder_ ? multi_step::poll : multi_step::take; }
  /// The pause is over because the busy key may be free.
  multi_step notified() noexcept;
  /// The reply to the poll, or why it could not be sent.
  multi_step polled(const reply& answer, instant now);

  std::size_t busy_key() const noexcept { return key_; }
  /// A key was busy in some round.
  bool was_busy() const noexcept { return rounds_ > 0; }
  /// What is left of retry_settings::limit.
  unsigned remaining_retries() const noexcept { return retries_.remaining_retries(); }

  /// Whether the one that a poll has shown keeps others out.
  static bool holds(const seen& holder) noexcept;

 private:
  void is_about(std::size_t key) noexcept;
  multi_step pause_before_retry(instant now, std::chrono::microseconds at_most);

  std::size_t key_ = 0;  // the busy one: what holder() and the pauses are about
  unsigned rounds_ = 0;  // that found a key busy, by another grant than the round before
  bool hopeless_ = false;
};

}  // namespace dlock::engine
