// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "engine/statements/connection_slots.hpp"
#include "engine/statements/statement_line.hpp"

namespace dlock::engine {

/// What an executor has decided under its lock, and does once that is open again.
class answers {
 public:
  explicit answers(time_source& time) noexcept : time_(time) {}

  statement_line answered{};           ///< their owners are told
  statement_line last_of_callers{};    ///< the last one of each caller that has all its answers
  connection_slots::closing broken{};  ///< closed
  instant look_at = instant::max();    ///< the executor's tick() is wanted by then

  /// It has been answered.
  void hand_over(statement& of) noexcept;
  /// It was not sent, for that reason.
  void refuse(statement& of, const fault& why) noexcept;
  void refuse_all(statement_line& all, const fault& why) noexcept;

 private:
  time_source& time_;
};

}  // namespace dlock::engine
