// SPDX-License-Identifier: BSL-1.0
// Annotations of a base: their options, parameters and database are those of the base.
#pragma once

#include "order_api.hpp"

namespace web {

inline constexpr auto patience = 2s;

class DLOCK_DEFAULTS(.prefix = "web", .wait = patience) web_orders : public api::order_api {
 public:
  void place(int number) override;
  void move(int to, int from) override;
  DLOCK_LOCKED("order:{id}", .max_hold = 1h)
  virtual void report(int id);

 private:
  int orders_ = 0;
};

}  // namespace web
