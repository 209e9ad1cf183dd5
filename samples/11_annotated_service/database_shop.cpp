// SPDX-License-Identifier: BSL-1.0
#include "database_shop.hpp"

#include <dlock/odb/database.hpp>
#include <odb/transaction.hxx>

#include "entities-odb.hxx"

namespace shop {

std::string database_shop::greet(const customer& buyer) { return "hello, " + buyer.name(); }

bool database_shop::sell(std::int32_t id) {
  odb::transaction t(dlock::begin_write(*db_));
  product sold;
  db_->load(id, sold);
  if (sold.stock == 0) return false;
  --sold.stock;
  db_->update(sold);
  t.commit();
  return true;
}

bool database_shop::transfer(std::int32_t from, std::int32_t to, std::int64_t amount) {
  account source;
  account target;
  db_->load(from, source);
  db_->load(to, target);
  if (source.balance < amount) return false;
  source.balance -= amount;
  target.balance += amount;
  db_->update(source);
  db_->update(target);
  return true;
}

std::optional<std::string> database_shop::close_day(const std::string& date) {
  meanwhile();
  return "closed " + date;
}

std::int64_t database_shop::price(std::int32_t id) {
  meanwhile();
  return price_ = 100 + id;
}
std::int64_t database_shop::last_price(std::int32_t) { return price_; }

}  // namespace shop
