// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// Makes the input of a sale: products.csv and orders.csv. The same options always give the same bytes.

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace flash_sale {

struct generator_options {
  std::size_t orders = 20'000;  ///< lines of orders.csv without the header; at least 1
  std::size_t products = 40;    ///< at least 1
  std::size_t hot = 5;          ///< products that six of ten orders want; at most `products`
  std::uint64_t seed = 1;
};

struct generated {
  std::size_t fresh = 0;       ///< good lines with an order id of their own
  std::size_t duplicates = 0;  ///< good lines that repeat an earlier one: a customer clicked twice
  std::size_t malformed = 0;   ///< bad lines
};

/// Writes the two files. There is stock for about half of what is ordered of the hot products, and for most
/// of the rest. Throws std::runtime_error if they can't be written.
generated generate_input(const generator_options& options, const std::filesystem::path& products,
                         const std::filesystem::path& orders);

}  // namespace flash_sale
