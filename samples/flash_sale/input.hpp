// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The input of a sale: products.csv and orders.csv in a folder.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "entities.hpp"

namespace flash_sale {

/// A line that is left out.
struct bad_line {
  std::string file{};    ///< the file's name, without its folder
  std::size_t line = 0;  ///< from 1
  std::string reason{};  ///< one of few: for counting
  std::string detail{};  ///< what stood there, printable; may be empty
};

/// "orders.csv:17: unknown product: 'P-99'"
std::string to_string(const bad_line& bad);

struct sale_input {
  std::vector<product> products{};
  std::vector<order> orders{};  ///< the good lines, duplicates included, in the file's order
  std::vector<bad_line> bad{};
  std::size_t order_lines = 0;  ///< of the file of orders, all but the header
  std::size_t distinct = 0;     ///< different order ids among `orders`
};

/// Columns: sku,name,price_cents,stock, and order_id,customer,sku,quantity; each file begins with a line of their
/// names. A bad line never stops the reading. Throws std::exception if a file can't be read.
sale_input read_input(const std::filesystem::path& folder);

struct generator_options {
  std::size_t orders = 20'000;  ///< lines of orders.csv without the header; at least 1
  std::size_t products = 40;    ///< at least 1
  std::size_t hot = 5;          ///< products that six of ten orders want
  std::uint64_t seed = 1;       ///< the same options always give the same bytes
};

/// Writes the two files. There is stock for about half of what is ordered of the hot products, and for most of the
/// rest. Throws std::runtime_error if they can't be written.
void generate_input(const generator_options& options, const std::filesystem::path& folder);

}  // namespace flash_sale
