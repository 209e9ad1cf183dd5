// SPDX-License-Identifier: GPL-2.0-or-later
#include "audit.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <unordered_map>

namespace flash_sale {

audit audit_books(const std::vector<product>& products, const std::vector<order>& orders,
                  const std::map<std::string, std::int64_t>& stock_after, const std::vector<book_entry>& book) {
  audit result;
  std::unordered_map<std::string_view, std::int64_t> sold;
  std::unordered_map<std::string_view, std::int64_t> answers;
  for (const auto& entry : book) {
    result.served_twice += ++answers[entry.order_id] > 1 ? 1 : 0;
    if (entry.what == outcome::sold) {
      ++result.sold_orders;
      result.sold_units += entry.quantity;
      sold[entry.sku] += entry.quantity;
    } else {
      ++result.refused_orders;
      // Stock only ever falls, so what is there at the end was there when the order was refused.
      result.wrongly_refused += stock_after.at(entry.sku) >= entry.quantity ? 1 : 0;
    }
  }
  for (const auto& p : products) {
    result.oversold_units += std::max<std::int64_t>(0, sold[p.sku] - p.stock);
    result.books_off += std::abs(p.stock - sold[p.sku] - stock_after.at(p.sku));
  }
  std::set<std::string_view> asked;
  for (const auto& o : orders) {
    if (asked.insert(o.id).second && answers.count(o.id) == 0) ++result.lost_orders;
  }
  return result;
}

}  // namespace flash_sale
