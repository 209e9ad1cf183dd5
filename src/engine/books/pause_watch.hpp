// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>

#include "base/mutex.hpp"
#include "dlock/store/clock.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

class pause_watch;

/// One who waits between two looks at a busy key.
class pause : public statement_owner {
 public:
  explicit pause(pause_watch& in) noexcept : in_(in) {}
  /// Its end has changed, or its look has been answered. Called under a lock: it may only signal.
  virtual void wake() noexcept = 0;
  void answered(statement&) noexcept final;
  /// To end no later than that. Any thread, while it is in the watch or has left it.
  void shorten(instant until) noexcept;

  statement* look = nullptr;  ///< what is sent at the end; null: nothing
  /// The look, which is sent now: however long the pause was, it has the time of a statement.
  statement* look_now(instant now) noexcept {
    look->until = std::max(look->until, now + look->patience);
    return look;
  }

 protected:
  ~pause() = default;

 private:
  friend class pause_watch;
  enum class place : std::uint8_t { outside, waiting, looking, looked };
  pause_watch& in_;
  // Guarded by the watch:
  instant until_{};
  place at_ = place::outside;
  std::multimap<instant, pause*>::iterator timer_{};
};

/// All who wait between two looks. When the pause of one ends, those whose pause ends soon look with it, by the same
/// statement: what a process polls does not grow with the number of keys that it waits for.
/// Thread safety: all functions from any thread.
class pause_watch {
 public:
  static constexpr std::size_t most_looks = 63;
  using looks = std::array<statement*, most_looks>;

  /// Allocates.
  void enter(pause& pause, instant now, instant until);
  /// False: its look has been sent by somebody else; the answer will be told. Otherwise the pause is over.
  bool leave(pause& pause) noexcept;
  /// Takes out those that end now, or soon; `found` gets their looks, which the caller must send. Returns how many.
  std::size_t due(instant now, looks& found) noexcept;
  /// When it ends, as it stands now.
  instant end_of(const pause& pause) const noexcept;
  /// Whether its look was sent by somebody else and has been answered.
  bool looked(const pause& pause) const noexcept;

 private:
  friend class pause;
  mutable base::mutex mutex_;
  std::multimap<instant, pause*> pauses_ DLOCK_GUARDED_BY(mutex_){};  // by the earliest time at which they may end
};

}  // namespace dlock::engine
