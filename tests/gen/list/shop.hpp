// SPDX-License-Identifier: BSL-1.0
// A code base whose locks are listed.
#pragma once

#include <dlock/annotations.hpp>

#include <cstdint>
#include <string>

namespace shop {

class ledger;

class orders {
 public:
  virtual ~orders() = default;
  DLOCK_LOCKED("order:{id}", .ttl = 30s)
  virtual void place(std::int64_t id, ledger& books);
  DLOCK_LOCKED("order:{id}")
  virtual void close(std::int64_t id);
  DLOCK_LOCKED("report")
  DLOCK_ON_BUSY(skip)
  virtual void note(std::int64_t id);
  void audit(std::int64_t id);
};

class DLOCK_DEFAULTS(.form = proxy) ledger {
 public:
  virtual ~ledger() = default;
  DLOCK_LOCKED("account:{id}")
  virtual void book(std::int64_t id);
  DLOCK_LOCKED("account:{id}")
  virtual void settle(std::int64_t id, orders& open);
  DLOCK_LOCKED("account:{this->main()}")
  virtual void twice();
  std::int64_t main() const { return 1; }
};

class printed_ledger : public ledger {
 public:
  void book(std::int64_t id) override;
};

DLOCK_LOCKED("report")
void report(orders& open, const std::string& name);

}  // namespace shop
