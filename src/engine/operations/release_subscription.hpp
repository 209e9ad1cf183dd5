// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <optional>

#include "base/mutex.hpp"
#include "dlock/store_interface/closing_bell.hpp"
#include "dlock/store_interface/store.hpp"
#include "engine/machines/acquire_machine.hpp"
#include "engine/operations/flow.hpp"
#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

/// A part of an operation: the pause between two polls of a busy key, and the poll that ends it. Another operation may
/// send that poll earlier, together with its own (see poll_scheduler).
class poll_wait final : private pause {
 public:
  poll_wait(engine_services& services, waker& woken) : pause(services.pauses), services_(services), woken_(woken) {}
  poll_wait(const poll_wait&) = delete;
  poll_wait& operator=(const poll_wait&) = delete;
  /// May wait, because its poll may be under way in a batch of another thread.
  ~poll_wait();

  /// Pauses until `until`, then sends `then`; null: nothing. `turn`: of the key; those in the queue may shorten the
  /// pause. Ends when the poll has been answered, the time has come, or it was interrupted. `key`: as in flow::wait().
  task<void> run(flow& f, queue_turn& turn, statement* then, instant until, const lock_key* key);

  bool interrupted() const noexcept { return interrupted_; }
  /// Ends this pause, or the next one, without a poll. Any thread may call it.
  void tell() noexcept;
  /// Drops a notification that has come since, so that it does not end the next pause.
  void forget() noexcept { notified_ = false; }
  /// Whether a notification ended the last pause.
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

/// A part of an operation: ends the pause when the store notifies it that the key may be free. Does nothing if the
/// store sends no notifications.
class release_subscription final : private key_listener {
 public:
  release_subscription(engine_services& services, poll_wait& pause, const key_mode& mode) noexcept
      : services_(services), pause_(pause), mode_(mode) {}
  release_subscription(const release_subscription&) = delete;
  release_subscription& operator=(const release_subscription&) = delete;
  ~release_subscription() { end(); }

  /// Subscribes to that key, which must outlive the subscription. Does nothing if it has done that before, except that
  /// it restarts a subscription that has stopped working, and now and then a registration that has not worked yet.
  void begin(const lock_key& key, const id128& session, bool in_order, instant now) noexcept;
  /// Ends the subscription. Its notifications do not end a pause any more.
  void end() noexcept;
  /// The waiter wants the exclusive lock of the key, which has members: from now on it is also notified when the last
  /// of them has left. Does nothing unless it is subscribed.
  void hear_of_last_member() noexcept;
  /// When a pause that begins now ends if there is no notification. Subscribes to the key as soon as that is worth it.
  instant pause_until(const lock_key& key, const id128& session, const lock_request& request,
                      const acquire_machine& machine, instant now);
  /// Whether the store will tell.
  bool works() const noexcept { return works_; }
  /// Whether the store notifies it whenever the key may be free. If not, it must poll as often as without
  /// notifications: transactions of the application and other programs free rows as well.
  bool replaces_polls() const noexcept { return works_ && !services_.caps.others_release() && key_->row() == nullptr; }
  /// Whether the last notification only said that the subscription has begun or stopped to work. The next call returns
  /// false.
  bool has_changed() noexcept { return changed_.exchange(false); }

 private:
  void may_be_free(bool works) noexcept override {
    if (works_.exchange(works) != works) changed_ = true;
    if (!works) stopped_ = true;
    pause_.tell();
  }
  key_mode mode() const noexcept override { return mode_; }
  void list_held(held_meanwhile& all) const override;
  void closes_cycle(const lock_held_meanwhile& held, std::span<const cycle_link> others) noexcept override;
  void show(const row_grant& holder) noexcept;
  void saw(const seen& holder) noexcept;

  engine_services& services_;
  poll_wait& pause_;
  const key_mode mode_;
  const lock_key* key_ = nullptr;  // set while it is subscribed
  id128 session_{};
  std::optional<closing_bell> last_member_{};  // likewise
  instant begun_{};
  instant first_pause_{};  // zero before it
  row_grant seen_{};       // the grant of the row that the last poll has shown
  mutable base::mutex mutex_{};
  row_grant shown_ DLOCK_GUARDED_BY(mutex_){};  // what the store knows: a grant that two polls have shown
  std::atomic<bool> works_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> changed_{false};
};

}  // namespace dlock::engine
