// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the books say after a sale, and what the user sees at the end.

#include <string>
#include <vector>

#include "sale.hpp"

namespace flash_sale {

/// What the books say. Takes nobody's word: made of the shop's tables and the input only.
struct audit {
  std::int64_t sold_orders = 0;      ///< rows of the order book
  std::int64_t refused_orders = 0;   ///< rows too: sold out
  std::int64_t oversold_units = 0;   ///< sold beyond what was in stock, over all products
  std::int64_t books_off = 0;        ///< units by which stock before - sold differs from stock after
  std::int64_t lost_orders = 0;      ///< good orders without an answer in the book
  std::int64_t served_twice = 0;     ///< rows beyond the first of an order
  std::int64_t wrongly_refused = 0;  ///< refused for want of stock though that much is left over
};
audit audit_books(const sale_input& input, const std::vector<product>& after, const std::vector<book_entry>& book);

/// One run, ready for the table.
struct run_report {
  std::string title{};
  bool locked = true;
  std::filesystem::path folder{};  ///< of databases and logs
  sale_result sale{};
  audit books{};
};

/// Prints the first ten bad lines, then how many there are of each kind; writes all of them to `file`.
void report_bad_lines(const std::vector<bad_line>& bad, const std::filesystem::path& file);

/// Prints the runs side by side.
void print_table(const std::vector<run_report>& runs, const sale_input& input);

/// Prints a sentence or more for each run. False: something was wrong that must not be.
bool print_verdict(const std::vector<run_report>& runs, const sale_input& input, bool killed_one);

/// What must not be in a run with locks, as sentences; empty: all is well.
std::vector<std::string> violations(const run_report& run, const sale_input& input, bool killed_one);

}  // namespace flash_sale
