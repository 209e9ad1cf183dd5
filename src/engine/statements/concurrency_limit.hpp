// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::engine {

/// How many connections are used at the same time. In a crowd two are: statements that arrive meanwhile go out together
/// when one of them is back, so that many share a round trip and a commit. It is a crowd if there are more statements
/// than connections, or if there are many and the server takes much longer for each than for one alone. Otherwise all
/// connections are used, and no statement waits for others. docs/performance.md says what that gains.
class concurrency_limit {
 public:
  /// A statement that takes longer hangs, or its server is far away. Either way it is useless to wait for it.
  static constexpr microseconds longest_hold = std::chrono::milliseconds{5};
  /// This many are no crowd while each has a connection, however long the server takes.
  static constexpr std::size_t few_statements = 8;
  /// A server that takes this many times as long as for a statement alone gains if statements share.
  static constexpr double overloaded = 3;
  /// After this many batches of a crowd, statements with connections go alone again, to measure how long they take now.
  static constexpr std::size_t look_again = 4096;

  /// `together`: the store can serve several by one statement.
  concurrency_limit(std::size_t connections, bool together) noexcept
      : connections_(connections), few_(together ? std::min<std::size_t>(connections, 2) : connections), crowd_(few_) {}

  std::size_t now() const noexcept { return crowded() ? crowd_ : connections_; }
  /// Whether statements wait although there are free connections.
  bool holds_back() const noexcept { return now() < connections_; }
  /// Until when others wait for a statement that was sent at `since`.
  instant waits_until(instant since) const noexcept { return holds_back() ? since + longest_hold : instant::max(); }
  /// A batch of that size was formed from `of` statements, and left `remaining` in its queue. A statement that shares
  /// nothing with others gains nothing by waiting for them.
  void formed(std::size_t batch, std::size_t of, std::size_t remaining) noexcept {
    most_ = std::max(static_cast<double>(of), most_ - most_ / memory);
    if (!crowded()) return;
    if (batches_ == look_again) {
      batches_ = 0;
      took_ = took_alone_;
    } else {
      ++batches_;
    }
    if (batch == 1 && remaining > 0) {
      crowd_ = std::min(crowd_ + 1, connections_);
    } else if (batch > 1) {
      crowd_ = std::max(crowd_ - 1, few_);
    }
  }
  /// A statement without others in its batch was answered after that time. `alone`: there was no other when it was
  /// sent. Returns whether statements wait from now on although there are free connections.
  bool answered(microseconds after, bool alone) noexcept {
    if (crowded()) return false;
    const auto took = static_cast<double>(std::min(after, longest_hold).count());
    took_ += (took - took_) / memory;
    if (alone) took_alone_ = took_alone_ == 0 ? took : took_alone_ + (took - took_alone_) / memory;
    return holds_back();
  }

 private:
  static constexpr double memory = 16;  // after this many batches an old value counts for a third

  bool crowded() const noexcept {
    const bool slow = took_ > overloaded * took_alone_ && took_alone_ > 0;
    return most_ > static_cast<double>(slow ? std::min(connections_, few_statements) : connections_);
  }

  std::size_t connections_;
  std::size_t few_;
  std::size_t crowd_;
  std::size_t batches_ = 0;  // batches of a crowd since the last measurement
  double most_ = 0;          // the recent number of statements
  double took_ = 0;          // us that one took recently, without sharing
  double took_alone_ = 0;    // the same, without others
};

}  // namespace dlock::engine
