// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/operations/key_attempt.hpp"

namespace dlock::engine {

/// One attempt at each of several keys, all at the same time: what they send goes out together. Those of a kind are
/// asked for under one session, so that they end together.
class batch_attempt {
 public:
  struct member {
    member(std::size_t which, queue_turn&& turn_of_key, engine_services& services, const lock_key& key,
           const lock_request& asked, const acquire_machine::settings& settings, waker& woken)
        : number(which),
          turn(std::move(turn_of_key)),
          attempt(services, key, asked, settings),
          asking(frames, woken, &begin, std::ref(attempt)) {}
    /// The batch ends while nothing of it is under way: what it was to send and did not, as one attempt threw, is not
    /// sent any more.
    ~member() { asking.withdraw(); }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    static task<step> begin(flow& f, key_attempt& of) { return of.ask(f); }

    const std::size_t number;  // of the key
    queue_turn turn;
    key_attempt attempt;
    frame_storage<1024> frames;
    coroutine_operation<step> asking;
    statement cancels{};
    bool started = false;
    bool waits = false;  // for a session that another call opens
    bool open = true;    // under way
  };

  /// `asked` must outlive it.
  batch_attempt(engine_services& services, const lock_request& asked, waker& woken)
      : services_(services), request_(asked), woken_(woken) {}

  /// One more key, which must outlive it, with the turn of that.
  void add(std::size_t number, const lock_key& key, queue_turn turn);
  bool empty() const noexcept { return members_.empty(); }
  std::deque<member>& all() noexcept { return members_; }
  /// Asks for all of them, until one is not to be had: the first of those that were busy or failed; null: all are
  /// granted.
  task<member*> ask(flow& f);
  /// Cancels what was granted and not admitted. What gets no answer is left to the background.
  task<void> give_back(flow& f);

 private:
  bool go_on(const std::optional<interruption>& why, instant now);

  engine_services& services_;
  const lock_request& request_;
  waker& woken_;
  std::deque<member> members_{};
  std::vector<statement*> sent_{};
  bool refused_ = false;
};

}  // namespace dlock::engine
