// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/statements/connection_slots.hpp"
#include "engine/statements/statement_queue.hpp"

namespace dlock::engine {

/// What an executor has decided under its lock, and does once that is open again.
class deferred_effects {
 public:
  /// `self`: the caller whose thread this is; null: none.
  explicit deferred_effects(time_source& time, const blocked_caller* self = nullptr) noexcept
      : time_(time), self_(self) {}

  statement_queue answered{};          ///< their owners are notified
  statement_queue last_of_callers{};   ///< the last one of each other caller that has all its answers
  connection_slots::closing broken{};  ///< closed
  instant tick_at = instant::max();    ///< the executor's tick() is wanted by then

  /// It has been answered.
  void hand_over(statement& of) noexcept;
  /// It was not sent, for that reason.
  void refuse(statement& of, const fault& why) noexcept;
  void refuse_all(statement_queue& all, const fault& why) noexcept;

 private:
  time_source& time_;
  const blocked_caller* self_;
};

}  // namespace dlock::engine
