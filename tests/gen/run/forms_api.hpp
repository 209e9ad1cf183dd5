// SPDX-License-Identifier: BSL-1.0
// An annotated interface of another header and namespace.
#pragma once

#include <dlock/annotations.hpp>
#include <dlock/lock_options.hpp>

#include <functional>
#include <optional>
#include <string>

namespace api {

/// What a body does. A test puts in what it wants to look at.
struct stage {
  std::function<void()> act = [] {};
  int entered = 0;
  void run() {
    ++entered;
    act();
  }
};

inline constexpr auto again = dlock::reentry::refuse;

class DLOCK_DEFAULTS(.prefix = "shop", .reentry = again) DLOCK_ON_BUSY(skip) order_api {
 public:
  virtual ~order_api() = default;
  DLOCK_LOCKED("order:{id}")
  virtual void place(int id) = 0;
  DLOCK_LOCKED("order:{from}")
  virtual std::optional<int> move(int from, int to) = 0;
  DLOCK_LOCKED(.prefix = qualified_name)
  virtual void sweep() = 0;
};

}  // namespace api
