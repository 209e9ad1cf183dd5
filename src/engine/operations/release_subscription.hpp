// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>

#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "engine/machines/acquire_machine.hpp"
#include "engine/operations/flow.hpp"
#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

/// A part of an operation: the pause between two polls at a busy key, and the poll that ends it. The poll may be sent
/// earlier, and by another operation, with its own (see poll_scheduler).
class poll_wait final : private pause {
 public:
  poll_wait(engine_services& services, waker& woken) : pause(services.pauses), services_(services), woken_(woken) {}
  poll_wait(const poll_wait&) = delete;
  poll_wait& operator=(const poll_wait&) = delete;
  /// However its operation ends, its poll may be under way in another one's batch, whose thread works with it.
  ~poll_wait();

  /// Pauses until `until`, then sends `then`; null: nothing. `turn`: of the key; those in the queue may shorten the
  /// pause. Ends when the poll has been answered, the time has come, or it was interrupted. `key`: as in flow::wait().
  task<void> run(flow& f, queue_turn& turn, statement* then, instant until, const lock_key* key);

  bool interrupted() const noexcept { return interrupted_; }
  /// Any thread: this pause, or the next one, is over without a poll.
  void tell() noexcept;
  /// What was told meanwhile does not end the next pause.
  void forget() noexcept { notified_ = false; }
  /// Whether that ended the last one.
  bool was_notified() const noexcept { return was_notified_; }

 private:
  void wake() noexcept override { woken_.wake(); }
  bool end() noexcept;

  engine_services& services_;
  waker& woken_;
  queue_turn* turn_ = nullptr;  // while it pauses
  std::atomic<bool> notified_{false};
  bool was_notified_ = false;
  bool interrupted_ = false;
};

/// A part of an operation: hears from the store when the key that it waits for may be free, and ends the pause then.
/// Does nothing where the store can't tell.
class release_subscription final : private key_listener {
 public:
  release_subscription(engine_services& services, poll_wait& pause) noexcept : services_(services), pause_(pause) {}
  release_subscription(const release_subscription&) = delete;
  release_subscription& operator=(const release_subscription&) = delete;
  ~release_subscription() { end(); }

  /// Watches that key, which must outlive it, unless it is watched already. A watch that has stopped working begins
  /// anew, and so does, now and then, a registration that has not worked yet.
  void begin(const lock_key& key, const id128& session, bool in_order, instant now) noexcept;
  /// Nothing that was heard of that key ends a pause any more.
  void end() noexcept;
  /// When a pause that begins now ends without a notification. The key, which `machine` asks for, is watched as soon as
  /// that pays.
  instant pause_until(const lock_key& key, const id128& session, const lock_request& request,
                      const acquire_machine& machine, instant now);
  /// Whether the store will tell.
  bool works() const noexcept { return works_; }
  /// Whether it tells of every moment in which the key may be free. If not, it is to be polled as often as otherwise: a
  /// row is also freed by transactions of the application's, and by other programs.
  bool replaces_polls() const noexcept { return works_ && !services_.caps.others_release && key_->row() == nullptr; }
  /// Whether the last notification said that it begins or stops to work, and no more. False the next time.
  bool has_changed() noexcept { return changed_.exchange(false); }

 private:
  void may_be_free(bool works) noexcept override {
    if (works_.exchange(works) != works) changed_ = true;
    if (!works) stopped_ = true;
    pause_.tell();
  }
  void list_held(held_meanwhile& all) const override;
  void closes_cycle(const lock_held_meanwhile& held, std::span<const cycle_link> others) noexcept override;
  void show(const row_grant& holder) noexcept;
  void saw(const seen& holder) noexcept;

  engine_services& services_;
  poll_wait& pause_;
  const lock_key* key_ = nullptr;  // while it watches
  id128 session_{};
  instant begun_{};
  instant first_pause_{};  // zero: none yet
  row_grant seen_{};       // has the row, as the last poll has shown it
  mutable base::mutex mutex_{};
  row_grant shown_ DLOCK_GUARDED_BY(mutex_){};  // the store knows it: it was seen twice
  std::atomic<bool> works_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> changed_{false};
};

}  // namespace dlock::engine
