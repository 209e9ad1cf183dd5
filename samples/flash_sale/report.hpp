// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// What the books say after a sale, and what the user sees at the end.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "csv_input.hpp"
#include "sale.hpp"

namespace flash_sale {

/// Compares the input with the tables.
audit audit_books(const std::vector<product>& products, const std::vector<order>& orders,
                  const std::map<std::string, std::int64_t>& stock_after, const std::vector<book_entry>& book);

/// Prints the first ten bad lines, then how many there are of each kind; writes all of them to `file`.
void report_bad_lines(const std::vector<bad_line>& bad, const std::filesystem::path& file);

/// Prints the runs side by side.
void print_table(const std::vector<run_report>& runs, const sale_input& input);

/// Prints a sentence or more for each run. False: something was wrong that must not be.
bool print_verdict(const std::vector<run_report>& runs, const orders_file& input, bool killed_one);

/// What must not be in a run with locks, as sentences; empty: all is well.
std::vector<std::string> violations(const run_report& run, const orders_file& input, bool killed_one);

/// 1234567 -> "1,234,567"
template <class Number>
std::string grouped(Number number) {
  auto text = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (auto at = text.size(); at > sign + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

/// The value that `percent` of all are not above; 0 for none. Sorts.
std::uint32_t percentile(std::vector<std::uint32_t>& values, double percent);

}  // namespace flash_sale
