// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/annotations.hpp>

#include <cstdint>
#include <odb/database.hxx>
#include <optional>
#include <string>
#include <utility>

#include "entities.hpp"

namespace shop {

/// Private members: keys come from getters.
class customer {
 public:
  customer(std::int32_t number, std::string name) : number_(number), name_(std::move(name)) {}
  std::int32_t number() const { return number_; }
  const std::string& name() const { return name_; }

 private:
  std::int32_t number_;
  std::string name_;
};

// [service]
class DLOCK_DEFAULTS(.ttl = 10s, .wait = 20s) shop_service {
 public:
  virtual ~shop_service() = default;

  // One greeting at a time for each customer.
  DLOCK_LOCKED("greeting:{buyer.number()}:{buyer.name()}")
  virtual std::string greet(const customer& buyer) = 0;

  // The row of the product is locked in place.
  DLOCK_LOCKED_ROW(id)
  virtual bool sell(std::int32_t id) = 0;

  // Both accounts or none, in a transaction that checks the locks before it commits.
  DLOCK_LOCKED("account:{from}")
  DLOCK_LOCKED("account:{to}")
  DLOCK_VERIFIED(db)
  virtual bool transfer(std::int32_t from, std::int32_t to, std::int64_t amount) = 0;

  // A call while the day is being closed returns nothing.
  DLOCK_LOCKED("day:{date}", .wait = 0s)
  DLOCK_ON_BUSY(skip)
  virtual std::optional<std::string> close_day(const std::string& date) = 0;

  // A call while a price is computed returns the last one.
  DLOCK_LOCKED("price:{id}", .wait = 0s)
  DLOCK_ON_BUSY(call, last_price)
  virtual std::int64_t price(std::int32_t id) = 0;
  virtual std::int64_t last_price(std::int32_t id) = 0;
};
// [/service]

}  // namespace shop
