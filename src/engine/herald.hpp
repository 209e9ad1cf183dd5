// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "engine/context.hpp"
#include "engine/grant.hpp"

namespace dlock::detail {

/// Tells holders that their lease is lost. A thread of its own, because users' callbacks may block or call back.
class herald {
 public:
  explicit herald(context& shared) : shared_(shared) {}
  void post(std::shared_ptr<grant> lost);
  void run();
  /// Ends run() once everything posted has been told.
  void stop() noexcept;

 private:
  context& shared_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<grant>> posted_;
  bool stop_ = false;
};

}  // namespace dlock::detail
