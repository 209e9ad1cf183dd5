// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::engine {

/// How many connections are used at the same time. While there is one for each statement, all are used: no statement
/// waits for others. In a crowd two are: what comes meanwhile goes out together when one of them is back, so that many
/// share a round trip and a commit. docs/performance.md says what that gains.
class concurrency_limit {
 public:
  /// What is under way for longer hangs, or its server is far away. Either way it is of no use to wait for it.
  static constexpr microseconds longest_hold = std::chrono::milliseconds{5};

  /// `together`: the store can serve several by one statement.
  concurrency_limit(std::size_t connections, bool together) noexcept
      : connections_(connections), few_(together ? std::min<std::size_t>(connections, 2) : connections), crowd_(few_) {}

  std::size_t now() const noexcept { return crowded() ? crowd_ : connections_; }
  /// Some wait although there are connections.
  bool holds_back() const noexcept { return now() < connections_; }
  /// Until when others wait for what is under way since then.
  instant waits_until(instant since) const noexcept { return holds_back() ? since + longest_hold : instant::max(); }
  /// A batch of that size was formed of so many, and left so many in its queue. What shares nothing with others gains
  /// nothing by waiting for them.
  void formed(std::size_t batch, std::size_t of, std::size_t remaining) noexcept {
    most_ = std::max(static_cast<double>(of), most_ - most_ / memory);
    if (!crowded()) return;
    if (batch == 1 && remaining > 0) {
      crowd_ = std::min(crowd_ + 1, connections_);
    } else if (batch > 1) {
      crowd_ = std::max(crowd_ - 1, few_);
    }
  }

 private:
  static constexpr double memory = 16;  // so many batches later, what was counts for a third

  bool crowded() const noexcept { return most_ > static_cast<double>(connections_); }

  std::size_t connections_;
  std::size_t few_;
  std::size_t crowd_;
  double most_ = 0;  // statements that there were lately
};

}  // namespace dlock::engine
