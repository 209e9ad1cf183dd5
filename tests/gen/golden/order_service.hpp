// SPDX-License-Identifier: BSL-1.0
// The class of the manual, and what dlock-gen makes of it.
#pragma once

#include <dlock/annotations.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace shop {

struct order {
  std::int64_t id = 0;
};
struct user {
  std::string name{};
};
struct receipt {
  std::int64_t number = 0;
};

class DLOCK_DEFAULTS(.ttl = 10s) order_service {
 public:
  virtual ~order_service() = default;

  DLOCK_LOCKED("order:{o.id}:{buyer.name}", .wait = 2s)
  virtual receipt place(const order& o, const user& buyer) = 0;

  DLOCK_LOCKED("order:{id}")
  DLOCK_ON_BUSY(skip)
  virtual void expire(std::int64_t id) = 0;

  DLOCK_LOCKED("order:{id}", .ttl = 60s, .min_hold = 1s, .fairness = dlock::fairness::none)
  DLOCK_ON_BUSY(call, find_cached)
  virtual std::optional<receipt> find(std::int64_t id) const = 0;
  virtual std::optional<receipt> find_cached(std::int64_t id) const = 0;

  virtual int open_orders() const noexcept = 0;
};

DLOCK_LOCKED("order:{o.id}")
receipt ship(const order& o, int boxes = 1);

}  // namespace shop
