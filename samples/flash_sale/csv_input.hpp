// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// Reads the two input files. A bad line is noted with its number and reason, and skipped; it never stops the reading.

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entities.hpp"

namespace flash_sale {

struct bad_line {
  std::string file{};    ///< the file's name, without its folder
  std::size_t line = 0;  ///< from 1
  std::string reason{};  ///< one of few: for counting
  std::string detail{};  ///< what stood there, printable; may be empty
};

/// "orders.csv:17: unknown product: 'P-99'"
std::string to_string(const bad_line& bad);

/// How often each reason occurs.
std::map<std::string, std::size_t> count_by_reason(const std::vector<bad_line>& bad);

struct orders_file {
  std::vector<order> orders{};  ///< the good lines, duplicates included, in the file's order
  std::size_t lines = 0;        ///< all lines but the header
  std::size_t distinct = 0;     ///< different order ids among `orders`
};

/// Columns: sku,name,price_cents,stock; a header line is skipped. Bad lines are appended to `bad`.
/// Throws std::runtime_error if the file can't be read.
std::vector<product> read_products(const std::filesystem::path& file, std::vector<bad_line>& bad);

/// Columns: order_id,customer,sku,quantity. As read_products().
orders_file read_orders(const std::filesystem::path& file, const std::vector<product>& products,
                        std::vector<bad_line>& bad);

/// Both files of a sale.
struct sale_input {
  std::vector<product> products{};
  orders_file orders{};
  std::vector<bad_line> bad{};
  std::size_t bad_orders = 0;  ///< those of `bad` that are of the file of orders
};
sale_input read_input(const std::filesystem::path& products, const std::filesystem::path& orders);

/// The fields of one line: separated by commas, in double quotes if they hold one ("" is a quote), blanks
/// around them removed. None: a quote is left open, or text follows a closed one.
std::optional<std::vector<std::string>> split_csv(std::string_view line);

bool is_utf8(std::string_view text) noexcept;

}  // namespace flash_sale
