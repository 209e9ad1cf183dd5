// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// The shop's data: what is in stock, and which orders were answered how.
///
/// The tables have no constraint that would do the lock's work: nothing keeps stock from being sold twice but
/// the care of those who write.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "database.hpp"
#include "model.hpp"

namespace flash_sale {

/// Thrown by book_sale(): somebody with a later grant of the product's lock has written since.
class stale_write : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One process's view of the shop, over one connection. Not thread-safe. Everything throws database_error.
class shop {
 public:
  explicit shop(std::string_view url) : db_(open_database(url)) {}

  /// Makes the tables anew and puts the products in.
  void open_sale(const std::vector<product>& products);

  /// How the order with this id was answered, if it was.
  std::optional<book_entry> find_order(const std::string& id);
  std::int64_t stock(const std::string& sku);

  /// Books the order as sold and sets the product's stock, in one transaction. Refuses (stale_write) a
  /// fencing token below the one that the product was last written with; 0: the caller has no lock.
  void book_sale(const order& o, std::int64_t new_stock, std::uint64_t fence);
  /// Books the order as refused.
  void book_refusal(const order& o);

  std::map<std::string, std::int64_t> all_stock();
  std::vector<book_entry> all_orders();

 private:
  void book(const order& o, outcome what);

  std::unique_ptr<database> db_;
};

}  // namespace flash_sale
