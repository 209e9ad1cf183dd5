// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/attempt.hpp"
#include "engine/multi_machine.hpp"

namespace dlock::detail {

/// One acquire of several keys, under way: does what multi_machine wants. Used by one thread. However it ends, what is
/// not in the multi_lease that it gives is given back.
class engine::several {
 public:
  several(engine& home, const lock_keys& keys, const lock_settings& options, bool once);
  several(const several&) = delete;
  several& operator=(const several&) = delete;
  ~several();

  multi_lease run();

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// What this round does for one key that is not held yet.
  struct part {
    part(std::size_t which, const several& of)
        : key(which), a(of.keys_[which], of.options_, true, of.who_, of.begun_, false, 0), next(a.machine.begin()) {}
    const std::size_t key;
    attempt a;
    step next;
  };

  void enter_held();
  multi_lease follow();
  multi_lease done();

  // Turns of the local queue.
  std::size_t line_up();
  std::size_t try_turns();
  void stand(std::size_t at);
  void leave_turns(std::size_t but = none) noexcept;
  void check_open(const lock_key& key) const;

  // A round.
  multi_step round();
  void leave_alone();
  bool pin_all(fault& why);
  std::optional<multi_step> look_around();
  void take_all();
  void settle(part& of);
  multi_step ended(const part& at);
  bool become_leases();
  void give_back() noexcept;
  void cancel_taken();

  multi_step look();
  void one_by_one();
  bool still_held();
  void drop_new() noexcept;
  request ask(verb action, const lock_key& key, const attempt* by) const noexcept;

  instant now() const noexcept { return home_.shared_.now(); }
  /// Of one statement.
  instant limit() const noexcept { return std::max(deadline_, now() + statement_patience); }

  engine& home_;
  const lock_keys& keys_;
  const lock_settings& options_;
  const bool once_;
  const std::shared_ptr<owner_state> who_;
  const instant begun_;
  const instant deadline_;
  multi_machine machine_;
  std::vector<lease> leases_;  // one per key; empty: not held yet
  std::vector<bool> turns_;    // whose turn is ours and not yet a grant's
  std::deque<part> parts_;     // of this round, in the order of their keys
};

}  // namespace dlock::detail
