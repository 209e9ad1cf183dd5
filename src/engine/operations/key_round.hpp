// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "engine/operations/key_attempt.hpp"
#include "engine/operations/session_request.hpp"

namespace dlock::engine {

/// One attempt at each of several keys, all at the same time: what they send goes out together. Those of a kind are asked
/// for under one session, so that they end together.
class key_round {
 public:
  struct part {
    part(std::size_t which, parts& with, const lock_key& key, const lock_request& asked,
         const acquire_machine::settings& settings, waker& woken)
        : number(which), attempt(with, key, asked, settings, woken) {}
    const std::size_t number;  // of the key
    key_attempt attempt;
    statement send{};  // a look before, a cancellation after
    bool started = false;
    bool open = true;  // under way
  };

  key_round(parts& with, const lock_request& asked, waker& woken)
      : with_(with), request_(asked), woken_(woken), session_(with, woken) {}

  void add(std::size_t number, const lock_key& key);
  bool empty() const noexcept { return parts_.empty(); }
  std::size_t first() const noexcept { return parts_.empty() ? 0 : parts_.front().number; }
  void clear() noexcept { parts_.clear(); }
  std::deque<part>& all() noexcept { return parts_; }

  /// Gets the sessions. Finished: pinned() says whether all have one, session_fault() why not.
  action pin(instant now);
  action pin_resumed(instant now) { return pin_follow(session_.resume(now), now); }
  bool pinned() const noexcept { return pinned_; }
  const fault& session_fault() const noexcept { return fault_; }

  /// Looks at each key. Finished: looked_busy().
  action look(instant now);
  /// The first that somebody holds; null: none.
  const part* looked_busy() const noexcept;

  /// Asks for all of them, until one is not to be had. Finished: at least one is busy or failed, or all are granted.
  action take(instant now);
  action take_resumed(instant now);
  /// The first that is not to be had; null: all were granted.
  part* refused() noexcept;

  /// Cancels what was granted. When that is answered, given_back() leaves the rest to the background.
  action give_back(instant now);
  void given_back(instant now) noexcept;

 private:
  action next_pin(instant now);
  action pin_follow(action next, instant now);
  action send(line through, instant until, microseconds patience);

  parts& with_;
  const lock_request& request_;
  waker& woken_;
  session_request session_;
  std::deque<part> parts_{};
  part* pinning_ = nullptr;
  std::vector<statement*> sent_{};
  fault fault_{};
  bool pinned_ = false;
  bool refused_ = false;
};

}  // namespace dlock::engine
