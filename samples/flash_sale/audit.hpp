// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// What the books say after a sale. Takes nobody's word: reads the shop's tables and the input only.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model.hpp"

namespace flash_sale {

struct audit {
  std::int64_t sold_orders = 0;  ///< rows of the order book
  std::int64_t sold_units = 0;
  std::int64_t refused_orders = 0;   ///< rows too: sold out
  std::int64_t oversold_units = 0;   ///< sold beyond what was in stock, over all products
  std::int64_t books_off = 0;        ///< units by which stock before - sold differs from stock after
  std::int64_t lost_orders = 0;      ///< good orders without an answer in the book
  std::int64_t served_twice = 0;     ///< rows beyond the first of an order
  std::int64_t wrongly_refused = 0;  ///< refused for want of stock though that much is left over
};

audit audit_books(const std::vector<product>& products, const std::vector<order>& orders,
                  const std::map<std::string, std::int64_t>& stock_after, const std::vector<book_entry>& book);

}  // namespace flash_sale
