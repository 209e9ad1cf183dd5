// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <odb/database.hxx>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "entities.hpp"

namespace flash_sale {

/// Thrown by book_sale(): somebody with a later grant of the product's lock has written since.
class stale_write : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The shop's data: what is in stock, and which orders were answered how. Not thread-safe. Everything throws
/// odb::exception.
class shop {
 public:
  /// As dlock::open_database().
  explicit shop(std::string_view url);

  /// Makes the tables anew and puts the products in.
  void open_sale(const std::vector<product>& products);

  struct standing {
    std::optional<book_entry> before{};  ///< how an order with this id was answered, if one was
    std::int64_t stock = 0;              ///< of its product
  };
  standing look_up(const order& o);

  /// Books the order as sold and sets the product's stock, in one transaction. Refuses (stale_write) a
  /// fencing token below the one that the product was last written with; 0: the caller has no lock.
  void book_sale(const order& o, std::int64_t new_stock, std::uint64_t fence);
  void book_refusal(const order& o);

  std::vector<product> all_products();
  std::vector<book_entry> all_orders();

 private:
  std::unique_ptr<odb::database> db_;
};

}  // namespace flash_sale
