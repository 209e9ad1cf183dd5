// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <functional>

#include "shop_service.hpp"

namespace shop {

/// The business itself, without a word about locks.
class database_shop final : public shop_service {
 public:
  explicit database_shop(odb::database& db) : db_(&db) {}

  std::string greet(const customer& buyer) override;
  bool sell(std::int32_t id) override;
  bool transfer(std::int32_t from, std::int32_t to, std::int64_t amount) override;
  std::optional<std::string> close_day(const std::string& date) override;
  std::int64_t price(std::int32_t id) override;
  std::int64_t last_price(std::int32_t id) override;

  /// Called in the middle of close_day() and price(): so that the program can ask again meanwhile.
  std::function<void()> meanwhile = [] {};

 private:
  odb::database* db_;
  std::atomic<std::int64_t> price_{99};
};

}  // namespace shop
