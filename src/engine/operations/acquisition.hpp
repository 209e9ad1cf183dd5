// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/late_object.hpp"
#include "engine/operations/key_attempt.hpp"
#include "engine/operations/queue_wait.hpp"
#include "engine/operations/reentry_attempt.hpp"
#include "engine/operations/release_subscription.hpp"

namespace dlock::engine {

/// One acquire of one key: the queue of this process, then the store, with pauses, until it is granted or the wait
/// ends.
class acquisition final : public operation {
 public:
  /// What asks the store, and pauses between. It is large, and an operation that waits in the queue does not need it
  /// yet.
  struct at_store {
    at_store(engine_services& services, waker& woken) : pause(services, woken), watch(services, pause) {}
    base::late_object<key_attempt> attempt;
    queue_turn no_turn{};
    poll_wait pause;  // may wait in its destructor for the attempt's poll
    release_subscription watch;
  };
  using room = base::late_object<at_store>;

  /// `key` must outlive it, and so must `in`; null: that is on the heap, once it is needed. `look_first`: the key is
  /// known to be contended.
  acquisition(engine_services& services, const lock_key& key, lock_request request, waker& woken, room* in = nullptr,
              bool poll_first = false);
  ~acquisition() override;

  action start(instant now) override;
  action resume(instant now) override;
  action interrupt(interruption why, instant now) override;
  const lock_key* waits_for() const noexcept override {
    return doing_ == doing::queued || doing_ == doing::pausing ? &key_ : nullptr;
  }

  /// After action::kind::finished. Throws lock_refused, store_error.
  acquired result(instant now);

 private:
  enum class doing : std::uint8_t { nothing, entering_again, queued, yielding, asking, pausing };

  /// Enters again what the owner holds by now.
  action look_for_own(instant now);
  action enter(instant now);
  action enter_queue(instant until, instant now);
  action enter_again(action next);
  action queue_left(action next, instant now);
  action use_passed(std::shared_ptr<grant> passed, instant now);
  action busy_here(instant now);
  action ask_store(bool poll_first, instant now);
  action let_others(instant now);
  action ask_now(instant now);
  action follow(action next, instant now);
  action pause_now(instant now);
  action pause_over(action next, instant now);
  std::string why_busy(instant now) const;
  void notify_granted(instant now, unsigned statements, bool taken_over);

  engine_services& services_;
  const lock_key& key_;
  const lock_request request_;
  waker& woken_;
  bool poll_first_;
  bool patient_ = false;  // this process has had the key for long
  unsigned rivals_ = 0;
  bool hears_ = false;  // leaving it alone: the store notifies of its release
  instant resumes_{};   // leaving it alone: until then
  doing doing_ = doing::nothing;
  reentry_attempt again_;
  queue_wait queue_wait_;
  queue_turn turn_{};  // the grant's, once there is one
  std::unique_ptr<room> own_room_{};
  room* room_;
  at_store* at_ = nullptr;          // in room_
  key_attempt* attempt_ = nullptr;  // in that
  acquired result_{};
  std::optional<interruption> interrupted_{};
  bool too_many_ = false;
  std::optional<bool> troubled_{};  // those in the queue know whether the store can be asked
  bool behind_ = false;             // busy: behind a caller that gets no answer from the store
  fault trouble_{};                 // behind_: why
  bool closed_ = false;             // the service was closed while the store granted it
};

}  // namespace dlock::engine
