// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flash_sale {

/// A line of products.csv.
struct product {
  std::string sku{};
  std::string name{};
  std::int64_t price_cents = 0;
  std::int64_t stock = 0;  ///< units on sale when the sale begins
};

/// A line of orders.csv. The same id on two lines is one order that was sent twice.
struct order {
  std::int64_t line = 0;  ///< where it stands in the file: names this submission
  std::string id{};
  std::string customer{};
  std::string sku{};
  std::int64_t quantity = 0;
};

/// What became of an order.
enum class outcome { sold, sold_out, duplicate };

inline std::string_view to_string(outcome what) noexcept {
  switch (what) {
    case outcome::sold: return "sold";
    case outcome::sold_out: return "sold_out";
    case outcome::duplicate: return "duplicate";
  }
  return "?";
}

/// A row of the shop's order book: an order that was answered.
struct book_entry {
  std::string order_id{};
  std::int64_t line = 0;
  std::string sku{};
  std::int64_t quantity = 0;
  outcome what = outcome::sold;  ///< sold or sold_out
};

}  // namespace flash_sale
