// SPDX-License-Identifier: BSL-1.0
// Functions that lock rows, or run in a transaction that verifies the lock.
#pragma once

#include <dlock/annotations.hpp>

#include <cstdint>
#include <functional>
#include <odb/database.hxx>
#include <optional>
#include <string>

#include "tickets.hpp"

namespace box_office {

class desk {
 public:
  explicit desk(odb::database& tickets) : tickets_(&tickets) {}

  DLOCK_LOCKED_ROW(id)
  std::string read(std::int64_t id);
  DLOCK_LOCKED_ROW(t.id, .row = ticket, .wait = 0ms)
  DLOCK_ON_BUSY(skip)
  int skip(const ticket& t);
  DLOCK_LOCKED_ROW(id, .db = this->tickets())
  void by_getter(std::int64_t id);
  DLOCK_LOCKED_ROW(id, .db = other)
  void by_parameter(odb::database& other, std::int64_t id);
  DLOCK_LOCKED_ROW(id)
  DLOCK_LOCKED("buyer:{buyer}")
  void both(std::int64_t id, const std::string& buyer);

  DLOCK_LOCKED("ticket:{id}")
  DLOCK_VERIFIED(db)
  std::int64_t sell(std::int64_t id, const std::string& buyer);
  DLOCK_LOCKED("ticket:{id}")
  DLOCK_VERIFIED(this->tickets())
  void sell_by_getter(std::int64_t id);
  DLOCK_LOCKED("ticket:{id}")
  DLOCK_VERIFIED(db)
  DLOCK_ON_BUSY(skip)
  bool sell_or_skip(std::int64_t id);
  DLOCK_LOCKED("ticket:{id}")
  DLOCK_VERIFIED(db)
  DLOCK_ON_BUSY(skip)
  std::optional<int> maybe_sell(std::int64_t id);
  DLOCK_LOCKED("ticket:{id}")
  DLOCK_VERIFIED(db)
  DLOCK_ON_BUSY(call, refuse)
  int sell_or_refuse(std::int64_t id);
  int refuse(std::int64_t) { return -1; }
  DLOCK_LOCKED("ticket:{one}")
  DLOCK_LOCKED("ticket:{other}")
  DLOCK_VERIFIED(db)
  void swap(std::int64_t one, std::int64_t other);
  DLOCK_LOCKED_ROW(id)
  DLOCK_VERIFIED(db)
  void sell_row(std::int64_t id, const std::string& buyer);

  odb::database& tickets() const { return *tickets_; }
  std::function<void()> act = [] {};

 private:
  odb::database* tickets_;
};

/// Its calls on itself are locked and verified in the transaction of the outer one.
class DLOCK_VERIFIED(db) cashier {
 public:
  virtual ~cashier() = default;
  DLOCK_LOCKED("till")
  virtual void day(odb::database& db, bool fails);
  DLOCK_LOCKED("till")
  virtual void one(odb::database& db, std::int64_t n);
};

DLOCK_LOCKED_ROW(id, .row = ticket)
std::string buyer_of(std::int64_t id);

}  // namespace box_office
