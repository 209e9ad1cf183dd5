// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/annotations.hpp>

#include <cstdint>
#include <string>

struct order {
  std::int64_t id;
};
struct user {
  std::string name;
};
struct receipt {
  std::int64_t number;
};

// [cpp]
class order_service {
 public:
  virtual ~order_service() = default;

  DLOCK_LOCKED("order:{o.id}:{buyer.name}", .ttl = 30s, .wait = 2s)
  virtual receipt place(const order& o, const user& buyer) = 0;

  DLOCK_LOCKED("order:{id}", .wait = 0ms)
  DLOCK_ON_BUSY(skip)
  virtual void expire(std::int64_t id) = 0;
};
// [/cpp]
