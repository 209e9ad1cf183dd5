// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// A sale from beginning to end: databases, run, audit.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "csv_input.hpp"
#include "report.hpp"

namespace flash_sale {

/// Which databases, how many workers. The URLs may stay empty for SQLite: the files are made below `folder` then.
struct setup {
  std::filesystem::path folder{};
  bool mysql = false;
  std::string locks_url{};  ///< where dlock keeps its locks
  std::string owner_url{};  ///< the same database, by a user that may make the lock tables; empty: locks_url may
  std::string shop_url{};   ///< where the shop keeps its data
  std::size_t workers = 4;
  bool kill_one = true;
  std::chrono::microseconds think{1'000};
  std::chrono::milliseconds ttl{2'000};
};

/// Throws std::invalid_argument, database_error, dlock::store_error, std::system_error.
run_report run_sale(const setup& how, bool locked, const std::vector<product>& products,
                    const std::vector<order>& orders);

}  // namespace flash_sale
