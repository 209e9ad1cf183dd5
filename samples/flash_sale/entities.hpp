// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the input files hold, and the tables of the shop. C++14: ODB's compiler reads it.
///
/// The tables have no constraint that would do the lock's work: nothing keeps stock from being sold twice but the care
/// of those who write.

#include <cstdint>
#include <odb/core.hxx>
#include <string>

namespace flash_sale {

// clang-format off
// Texts compare byte by byte.
#pragma db value(std::string) mysql:type("VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")

/// A line of products.csv.
#pragma db object table("product")
struct product {
  #pragma db id
  std::string sku{};
  std::string name{};
  std::int64_t price_cents = 0;
  std::int64_t stock = 0;
  std::int64_t fence = 0;  ///< the fencing token that it was last written with
};

/// What became of an order.
enum class outcome { sold, sold_out, duplicate };

/// An order that was answered: sold or sold_out.
#pragma db object no_id table("order_book")
struct book_entry {
  #pragma db index
  std::string order_id{};
  std::int64_t line = 0;
  std::string customer{};
  std::string sku{};
  std::int64_t quantity = 0;
  outcome what = outcome::sold;
};
// clang-format on

/// A line of orders.csv. The same id on two lines is one order that was sent twice.
struct order {
  std::int64_t line = 0;  ///< where it stands in the file: names this submission
  std::string id{};
  std::string customer{};
  std::string sku{};
  std::int64_t quantity = 0;
};

}  // namespace flash_sale
