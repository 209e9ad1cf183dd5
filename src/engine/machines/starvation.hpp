// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::engine {

/// How long a process without known waiters may not look for one when it releases a key (wake_knowledge).
constexpr microseconds quiet_without_waiters = std::chrono::milliseconds{10};
/// How long a process takes a key again and again before it yields for the first time (tenure_tracker).
constexpr microseconds shortest_tenure = std::chrono::milliseconds{50};
/// How long it yields then: no starving waiter pauses for longer, with the default retry_policy.
constexpr microseconds tenure_yield = std::chrono::milliseconds{20};
/// A process that already pauses this long between grants need not yield.
constexpr microseconds tenure_gap = std::chrono::milliseconds{5};
/// Where the store notifies all waiters at once: how much earlier a waiter asks for each time that it was passed over.
constexpr microseconds waiter_precedence = std::chrono::milliseconds{1};

/// Whether the release of the grant with that nonce looks for a waiter in any case: a process requested it that had
/// waited, or that uses fairness::fifo. Waiters see the nonce, and so need not poll to see whether the key is free,
/// even if it changes hands before they could rely on quiet_without_waiters.
constexpr bool promises_to_look(std::uint64_t nonce) noexcept { return nonce % 2 != 0; }

/// The waiter's part of sharing a busy key (registry/fair_share.hpp): the grants of other processes that it has seen
/// decide how it asks. Pure.
///
///   hurries()   It has seen the same process for a while, with another grant at each poll, or a process that had a
///               second turn after that of another. It polls faster until it has its turn. However many processes take
///               turns, those that have not had theirs poll faster than those that have.
///   insists()   It has been passed over for a second, and a take after a poll or a notification comes too late. It
///               sends takes without having seen the key free.
///   courtesy()  It was notified together with others. It lets those ask first that were passed over more often.
class starvation_detector {
 public:
  /// A waiter counts as starving once it has seen the key change hands at least `often` times within `patience`.
  static constexpr microseconds patience = std::chrono::seconds{1};
  static constexpr unsigned often = 4;
  /// How many turns back it recognises a process.
  static constexpr std::size_t turns_known = 16;

  void polled(const seen& holder, instant now) noexcept;
  /// How long it waited for the answer to a poll.
  void poll_took(microseconds time) noexcept { far_ = time >= tenure_yield / 8; }
  /// The store has notified it that the key may be free, and may have notified others as well.
  void notified() noexcept { races_ = true; }
  void paused() noexcept { insisted_ = 0; }
  /// Whether it should poll faster.
  bool hurries() const noexcept { return starving_ || outrun_; }
  /// One process takes the key again and again, or several take turns without the waiter for long.
  bool overlooked(instant now) const noexcept {
    return starving_ || (passed_over_ >= often && now - first_poll_ >= patience);
  }
  /// How often the waiter saw the key change hands.
  unsigned passed_over() const noexcept { return passed_over_; }
  /// Whether it sends another take though the key was held; counts the takes since the last pause. A process that takes
  /// the key again and again yields it for tenure_yield. A pause, a poll and a take that fit in there by chance alone
  /// are too slow, and so is a take that follows a notification, which nearer waiters get sooner.
  bool insists(instant now) noexcept;
  /// How long it lets others ask first after a notification. `rivals`: tenure_tracker::rivals().
  microseconds courtesy(unsigned rivals) const noexcept {
    return std::min((rivals - std::min(rivals, passed_over())) * waiter_precedence, tenure_yield);
  }
  /// When the grant that was polled last was seen for the first time.
  instant seen_since() const noexcept { return grant_since_; }
  /// How long it takes until a release of the grant that was polled last looks for waiters (wake_knowledge). Twice the
  /// holder's own time, because the holder's statement may take a while.
  microseconds until_relied_on(instant now) const noexcept {
    if (promised_) return microseconds{0};
    return holder_ ? microseconds{grant_since_ + 2 * quiet_without_waiters - now} : microseconds::max();
  }

 private:
  /// Whether that process had a turn before, and another one since.
  bool has_second_turn(const id128& holder) noexcept;

  std::array<id128, turns_known>
      turns_{};  // the last ones that were seen; several in a row of one process count as one
  unsigned turns_seen_ = 0;
  id128 holder_{};
  std::uint64_t fence_ = 0;
  instant since_{};
  instant grant_since_{};
  instant first_poll_{};
  unsigned passed_over_ = 0;
  bool promised_ = false;
  bool starving_ = false;  // one process has had all turns that it saw
  bool outrun_ = false;    // one process has had a second turn
  bool far_ = false;       // the server is far, or slow
  bool races_ = false;
  unsigned insisted_ = 0;  // takes since the last pause
};

}  // namespace dlock::engine
