// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dlock/lock_keys.hpp"
#include "engine/machines/multi_machine.hpp"
#include "engine/operations/acquisition.hpp"
#include "engine/operations/batch_attempt.hpp"
#include "engine/operations/release_subscription.hpp"

namespace dlock::engine {

/// One key of several: its grant, or the turn for it.
struct key_slot : acquired {
  queue_turn turn{};  // ours, and not yet a grant's
};

/// One place for each key; none: one of them was busy.
struct acquired_all {
  std::vector<key_slot> held{};
  std::string why_busy{};
};

/// One acquire of several keys, all or none: does what multi_machine wants. Nothing is held while one is waited for,
/// but in the end those before it in the order of all processes, or of the queues of this one.
class multi_acquisition final : public operation {
 public:
  /// `keys` must outlive it. `request`: the owner, when the call began, and how the caller waits.
  multi_acquisition(engine_services& services, const lock_keys& keys, const lock_request& request, waker& woken);
  ~multi_acquisition() override;

  action start(instant now) override;
  action resume(instant now) override;
  action interrupt(interruption why, instant now) override;
  const lock_key* waits_for() const noexcept override;
  void list_taken(std::vector<nested_wait::held_lock>& all) const override;

  /// After action::kind::finished. Throws as acquisition.
  acquired_all result(instant now);

 private:
  enum class doing : std::uint8_t {
    nothing,
    entering_again,
    queued,
    yielding,
    pinning,
    polling_all,
    taking,
    giving_back,
    pausing,
    one_by_one,
    extending
  };
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  action follow(multi_step next, instant now);
  action enter_held(action next, instant now);
  action enter_queue(instant now);
  action queue_left(action next, instant now);
  action busy_here(std::size_t key, instant now);
  std::size_t try_turns();
  void leave_turns(std::size_t but) noexcept;
  action round(action next, instant now);
  multi_step round_over(instant now);
  bool admit_all(instant now) noexcept;
  void drop_new(instant now) noexcept;
  action pause_now(instant now);
  action pause_over(action next, instant now);
  action one_by_one(action next, instant now);
  action extend_all(bool resumed, instant now);
  std::string why_busy(instant now) const;

  engine_services& services_;
  const lock_keys& keys_;
  detail::lock_settings terms_;  // with what is left of the retry limit
  const lock_request request_;
  waker& woken_;
  multi_machine machine_;
  doing doing_ = doing::nothing;
  std::vector<key_slot> slots_;
  std::size_t at_ = 0;       // whose place it is about
  unsigned lone_waits_ = 0;  // how often a busy queue may still be waited for alone in this round
  reentry_attempt again_;
  queue_wait queue_wait_;
  queue_turn no_turn_{};
  statement poll_{};  // ends a pause
  poll_wait pause_;   // may wait in its destructor for that
  release_subscription watch_;
  batch_attempt round_;
  std::optional<acquisition> single_{};
  std::optional<extension> extension_{};
  std::optional<interruption> interrupted_{};
  multi_step end_ = multi_step::granted;
  instant last_{};
  std::string why_busy_{};
  const lock_key* missing_ = nullptr;  // that row does not exist
  bool polls_ = false;                 // the pause ends with a poll
  bool too_many_ = false;
  bool busy_here_ = false;
  bool closed_ = false;  // the service was closed while the store granted them
};

}  // namespace dlock::engine
