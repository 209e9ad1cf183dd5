// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "engine/operations/flow.hpp"
#include "engine/operations/key_attempt.hpp"
#include "engine/operations/lingering.hpp"
#include "engine/operations/reentry_attempt.hpp"
#include "engine/operations/release_subscription.hpp"

namespace dlock::engine {

/// What an acquire of one key knows while it is under way, and the coroutines that go through it.
class key_acquire : private queue_waiter {
 public:
  /// Bytes of all frames while it waits in the queue, and of all below run() while the store is asked. g++ 12 needs 112
  /// and 2,608.
  static constexpr std::size_t frames_in_queue = 128;
  static constexpr std::size_t frames_at_store = 2816;

  /// `own`: the turn of that key, if the caller has it already. `after`: of an attempt that was busy or failed just
  /// now.
  key_acquire(engine_services& services, const lock_key& key, lock_request request, waker& woken, bool poll_first,
              queue_turn own = {}, const acquire_machine* after = nullptr);

  ~key_acquire();
  key_acquire(const key_acquire&) = delete;
  key_acquire& operator=(const key_acquire&) = delete;

  /// Until it is granted or the wait ends; then take(). Throws lock_refused, store_error.
  task<void> run(flow& f);
  /// What came of it, once.
  acquired take() noexcept { return std::move(end_); }
  /// Granted: what is left of retry_settings::limit.
  unsigned remaining_retries() const noexcept { return remaining_retries_; }

 private:
  /// What this process knows about the key.
  enum class found : std::uint8_t {
    ours,   ///< its owner holds it already
    turn,   ///< no caller of this process holds it or asks for it, so this one asks the store
    queue,  ///< another caller holds it or asks for it, so this one enters the queue
    waits,  ///< this caller is in the queue
    busy,   ///< this caller does not wait, or has stopped waiting
    over,   ///< take() gives the result
  };
  /// The next step at the store.
  enum class next : std::uint8_t { yield, begin, take, poll, polled };
  struct at_store;

  found look(instant now);
  found enter(instant now);
  found join_readers(instant now);
  found enter_queue(const flow& f);
  found go_on_in_queue(const flow& f, std::optional<interruption> why);
  found leave_queue(const flow& f, bool again);
  found use_passed(instant now);
  found use_lingering(instant now);
  task<found> at_the_store(flow& f) { return lingers_ != nullptr ? ask_about_lingering(f) : ask_store(f); }
  task<found> ask_about_lingering(flow& f);
  task<found> ask_store(flow& f);
  next begin_at_store(at_store& here, bool interrupted, instant now);
  void register_after_hand_over(at_store& here, instant now);
  bool registers() const noexcept;
  bool registers_first(instant now) const noexcept;
  task<step> ask(flow& f, at_store& here, next how);
  task<void> leave_to_others(flow& f, at_store& here);
  task<void> pause(flow& f, at_store& here);
  bool waits_for_members(const acquire_machine& machine) const noexcept;
  next pause_over(at_store& here, bool yielded, instant now);
  found granted(std::shared_ptr<grant> held, instant now, unsigned statements, bool taken_over);
  found not_granted(const flow& f, const key_attempt* attempt);

  void wake() noexcept override { woken_.wake(); }
  /// Counts as a waiter from now on, until its end. False: there are too many waiters.
  bool count() noexcept { return request_.counted || counted_.take(services_.queue, request_.begun); }

  engine_services& services_;
  waker& woken_;
  const lock_key& key_;
  const lock_request request_;
  const acquire_machine* after_;
  unsigned remaining_retries_;
  bool poll_first_;
  bool too_many_ = false;
  bool closed_ = false;  // the service was closed while the store granted it
  bool in_queue_ = false;
  instant queue_until_{};
  instant last_{};  // when it was resumed in the queue
  reentry_attempt again_;
  waiter_slot counted_{};
  std::shared_ptr<grant> lingers_{};  // of the key, which can't be used without a statement
  acquired end_{};                    // not in the frames, which would keep it several times
};

/// One acquire of one key: the queue of this process, then the store, with pauses, until it is granted or the wait
/// ends.
class acquisition final : private frame_storage<key_acquire::frames_in_queue>,
                          private key_acquire,
                          public coroutine_operation<void> {
 public:
  /// Room for all frames.
  using room = frame_storage<frames_in_queue + frames_at_store>;

  /// `key` and `in` must outlive it. If `in` is null, the frames that it needs at the store are on the heap; they are
  /// allocated before the first statement. `poll_first`: the key is known to be contended.
  acquisition(engine_services& services, const lock_key& key, lock_request request, waker& woken, room* in = nullptr,
              bool poll_first = false)
      : key_acquire(services, key, std::move(request), woken, poll_first),
        coroutine_operation<void>(
            in != nullptr ? std::span<std::byte>(*in) : std::span<std::byte>(static_cast<frame_storage&>(*this)), woken,
            &run_in, static_cast<key_acquire*>(this)) {}

  acquired result(instant) noexcept { return take(); }

 private:
  static task<void> run_in(flow& f, key_acquire* of) { return of->run(f); }
};

}  // namespace dlock::engine
