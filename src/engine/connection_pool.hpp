// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "dlock/store/clock.hpp"
#include "dlock/store/store.hpp"
#include "engine/pool_state.hpp"

namespace dlock::detail {

/// A handful of connections, each used for one statement at a time: nobody keeps one while waiting or holding. One more
/// is kept for renewals.
///
/// Nobody connects on a thread of his own, because nothing can bound that: the look-up of a host's name alone may take a
/// minute. A connection is made by a thread that lives as long as that takes, at most one for each place in the pool. The
/// caller waits as long as he likes, and what comes after he left serves the next one. Such a thread may outlive the pool;
/// it shares what it needs.
class connection_pool {
 public:
  connection_pool(std::shared_ptr<store> where, time_source& time, std::size_t size);
  /// Ends what still connects, and does not wait for it.
  ~connection_pool();
  connection_pool(const connection_pool&) = delete;
  connection_pool& operator=(const connection_pool&) = delete;

  /// Called with each new connection, by the thread that uses it first. Set before use.
  void on_connect(std::function<void(const connection_identity&)> greet) { greet_ = std::move(greet); }
  /// Called with the limit of each loan: interrupt_hung() is to look then. Set before use.
  void on_watch(std::function<void(instant)> watch) { watch_ = std::move(watch); }

  /// A connection on loan. Gives it back, or drops it if it broke.
  class loan {
   public:
    loan() = default;
    loan(loan&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), slot_(std::exchange(other.slot_, nullptr)) {}
    loan& operator=(loan&&) = delete;
    ~loan();
    explicit operator bool() const noexcept { return slot_ != nullptr; }
    connection& operator*() const noexcept { return *slot_->on; }

   private:
    friend class connection_pool;
    loan(connection_pool* pool, pool_slot* of) noexcept : pool_(pool), slot_(of) {}
    connection_pool* pool_ = nullptr;
    pool_slot* slot_ = nullptr;
  };

  /// Waits for a connection until `until` (for one that is being made at least 100 ms), first come, first served.
  /// `patience`: what runs on it after so long counts as hung and is interrupted; 0: at `until`. Empty: `why` says the
  /// reason.
  loan get(instant until, microseconds patience, fault& why);

  /// Of the connection for renewals. If that can't be had, or not within half the time, one of the others, before all who
  /// wait for these.
  loan get_for_renewal(instant until, microseconds patience, fault& why);
  /// Sees to it that it is there when it is needed. Does not wait.
  void prepare_renewal();

  /// `use`, which takes a connection and gives a reply, on a loan. If the connection turns out to be gone and certainly
  /// nothing was done, once more on another one, before `until`. A reply that failed if there is no connection.
  template <class Use>
  reply run(instant until, microseconds patience, Use&& use) {
    for (bool again = false;; again = true) {
      reply answer;
      const auto on = get(until, patience, answer.why);
      if (!on) return answer;
      answer = use(*on);
      if (again || !is_gone(answer) || time_.now() >= until) return answer;
      distrust_idle();
    }
  }
  /// Whether a connection turned out to be of no more use before anything was done.
  static bool is_gone(const reply& answer) noexcept {
    return answer.result == outcome::failed && answer.why.connection && !answer.why.contended;
  }

  /// Interrupts what is past its limit, says when to look again. Called by the alarm thread.
  instant interrupt_hung(instant now) noexcept;
  /// Nothing is waited for after `until`, and what runs then is interrupted. Renewals end at once.
  void finish(instant until) noexcept;
  /// No more connections are made. Waits for the threads that make some, but not for long: what can't be ended is left.
  void end_connecting(std::chrono::milliseconds limit) noexcept;
  /// Threads that wait for a connection now.
  std::size_t waiting() const;
  /// Connections open now.
  std::size_t open() const;

 private:
  using closing = pool_state::closing;

  loan wait(bool renewal, instant until, microseconds patience, fault& why);
  pool_slot* wait_for_one(bool renewal, instant until, std::unique_lock<std::mutex>& lock, fault& why);
  void watch(pool_slot& one, instant until, microseconds patience, std::unique_lock<std::mutex>& lock);
  bool fit_for_use(pool_slot& one);
  void distrust_idle();
  void give_back(pool_slot& one) noexcept;

  const std::shared_ptr<pool_state> state_;
  time_source& time_;
  std::function<void(const connection_identity&)> greet_;
  std::function<void(instant)> watch_;
};

}  // namespace dlock::detail
