// SPDX-License-Identifier: BSL-1.0
// An interface of another header, whose annotations its implementations inherit.
#pragma once

#include <dlock/annotations.hpp>

#include <chrono>

using namespace std::chrono_literals;

namespace api {

inline constexpr auto patience = 1s;

class DLOCK_DEFAULTS(.prefix = "shop", .wait = patience) DLOCK_ON_BUSY(skip) DLOCK_VERIFIED(db) order_api {
 public:
  virtual ~order_api() = default;
  DLOCK_LOCKED("order:{id}", .ttl = 60s)
  virtual void place(int id) = 0;
  DLOCK_LOCKED("{from}", .prefix = qualified_name)
  DLOCK_ON_BUSY(throw)
  virtual void move(int from, int to) = 0;
};

}  // namespace api
