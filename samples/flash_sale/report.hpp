// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// What the user sees at the end.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "audit.hpp"
#include "coordinator.hpp"
#include "csv_input.hpp"

namespace flash_sale {

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
void print_table(const std::vector<run_report>& runs, const orders_file& input, std::size_t bad_lines);

/// What must not be in a run with locks, as sentences; empty: all is well.
std::vector<std::string> violations(const run_report& run, const orders_file& input, bool killed_one);

/// The value that `percent` of all are not above; 0 for none. Sorts.
std::uint32_t percentile(std::vector<std::uint32_t>& values, double percent);

}  // namespace flash_sale
