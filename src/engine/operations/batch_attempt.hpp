// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "engine/operations/key_attempt.hpp"
#include "engine/operations/session_request.hpp"

namespace dlock::engine {

/// One attempt at each of several keys, all at the same time: what they send goes out together. Those of a kind are
/// asked for under one session, so that they end together.
class batch_attempt {
 public:
  struct member {
    member(std::size_t which, engine_services& services, const lock_key& key, const lock_request& asked,
           const acquire_machine::settings& settings, waker& woken)
        : number(which), attempt(services, key, asked, settings), asking(frames, woken, &begin, std::ref(attempt)) {}
    /// The batch ends while nothing of it is under way: what it was to send and did not, as one attempt threw, is not
    /// sent any more.
    ~member() { asking.withdraw(); }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    static task<step> begin(flow& f, key_attempt& of) { return of.ask(f); }

    const std::size_t number;  // of the key
    key_attempt attempt;
    frame_storage<2048> frames;
    coroutine_operation<step> asking;
    statement send{};  // a poll before, a cancellation after
    bool started = false;
    bool open = true;  // under way
  };

  batch_attempt(engine_services& services, const lock_request& asked, waker& woken)
      : services_(services), request_(asked), woken_(woken), session_(services, woken) {}

  void add(std::size_t number, const lock_key& key);
  bool empty() const noexcept { return members_.empty(); }
  std::size_t first() const noexcept { return members_.empty() ? 0 : members_.front().number; }
  void clear() noexcept { members_.clear(); }
  std::deque<member>& all() noexcept { return members_; }

  /// Gets the sessions. Finished: pinned() says whether all have one, session_fault() why not.
  action pin(instant now);
  action pin_resumed(instant now) { return pin_follow(session_.resume(now), now); }
  bool pinned() const noexcept { return pinned_; }
  /// One of those of the last round; zero: there was none.
  const id128& session() const noexcept { return asked_as_; }
  const fault& session_fault() const noexcept { return fault_; }

  /// Looks at each key. Finished: found_busy().
  action poll(instant now);
  /// The first that somebody holds; null: none.
  const member* found_busy() const noexcept;

  /// Asks for all of them, until one is not to be had. Finished: at least one is busy or failed, or all are granted.
  action take(instant now);
  action take_resumed(instant now);
  /// The first that is not to be had; null: all were granted.
  member* refused() noexcept;

  /// Cancels what was granted. When that is answered, given_back() leaves the rest to the background.
  action give_back(instant now);
  void given_back(instant now) noexcept;

 private:
  action next_pin(instant now);
  action pin_follow(action next, instant now);
  action send(priority level, instant until, microseconds timeout);

  engine_services& services_;
  const lock_request& request_;
  waker& woken_;
  session_request session_;
  std::deque<member> members_{};
  member* pinning_ = nullptr;
  std::vector<statement*> sent_{};
  fault fault_{};
  id128 asked_as_{};
  bool pinned_ = false;
  bool refused_ = false;
};

}  // namespace dlock::engine
