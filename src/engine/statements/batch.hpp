// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "dlock/store_interface/clock.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

class statement_queue;

/// Statements that are executed together on one connection, and the memory for the store's view of them.
class batch {
 public:
  /// More would lock too many rows at one time.
  static constexpr std::size_t most = 64;

  batch();

  /// Removes that statement from its queue, and those that may share it. `together`: the store can serve several at
  /// once. Precondition: the batch is empty.
  void gather(statement& first, statement_queue& from, bool together, instant now);
  /// Whether the store can serve both by one statement.
  static bool serves_both(const statement& first, const statement& other) noexcept;
  /// The same, and neither has so little time left that it would interrupt the other.
  static bool may_share(const statement& first, const statement& other, instant now) noexcept;
  std::span<statement* const> members() const noexcept { return {members_.data(), size_}; }
  /// When its connection counts as hung: at the earliest limit of a member.
  instant limit(instant now) const noexcept;

  /// Sends it and waits for the answers. `sent` was read just before; `time` gives the time of the answers. Members
  /// without an answer share `of_connection`.
  void execute(store& where, connection& on, instant sent, const time_source& time,
               const std::shared_ptr<doubt>& of_connection) noexcept;
  void clear() noexcept { size_ = 0; }

 private:
  void execute_together(store& where, connection& on) noexcept;
  static void execute_alone(store& where, connection& on, statement& member) noexcept;

  std::array<statement*, most> members_{};
  std::size_t size_ = 0;
  std::vector<request> asks_{};
  std::vector<reply> answers_{};
};

}  // namespace dlock::engine
