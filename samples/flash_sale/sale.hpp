// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What a sale is run by, and what comes of it; what its processes say to each other.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "entities.hpp"
#include "input.hpp"

namespace flash_sale {

using clock = std::chrono::steady_clock;  ///< the same for all processes of the host

/// The command line.
struct settings {
  generator_options input{};
  std::filesystem::path folder{};  ///< where files are written
  std::string database = "sqlite";
  // For SQLite the URLs stay empty: the files are made in `folder`.
  std::string locks_url{};  ///< where dlock keeps its locks
  std::string owner_url{};  ///< the same database, by a user that may make the lock tables; empty: locks_url may
  std::string shop_url{};   ///< where the shop keeps its data
  bool locked = true;
  std::size_t workers = 4;
  bool kill_one = true;   ///< if there are others
  long think_us = 1'000;  ///< how long the payment service takes
  long ttl_ms = 2'000;    ///< how long a dead worker's lock stays taken
};

/// The variables of the environment in which workers find locks_url and shop_url: these may hold a password.
inline constexpr const char* locks_variable = "FLASH_SALE_LOCKS_URL";
inline constexpr const char* shop_variable = "FLASH_SALE_SHOP_URL";

/// What a worker is sent first.
struct worker_settings {
  std::size_t number = 0;
  bool locked = true;
  long think_us = 0;
  long ttl_ms = 0;
};
/// And then, again and again: serve the order with this index. Stop: in the middle of it, with the lock.
struct task {
  std::size_t index = 0;
  bool stop = false;
};
/// What it says of it.
struct task_report {
  std::size_t index = 0;
  bool served = false;                ///< false: it has tried often enough, and its log says why
  outcome answer = outcome::sold;     ///< if served
  clock::time_point begun{};          ///< when it got the lock
  std::chrono::nanoseconds waited{};  ///< for the lock
  bool taken_over = false;            ///< the lock, from a holder that died
  std::size_t attempts = 0, stale_writes = 0;
  std::size_t leases_lost = 0;  ///< since the last report
};

/// What the workers have told of a sale.
struct sale_result {
  std::size_t sold = 0, sold_out = 0, duplicates = 0;
  std::size_t done_again = 0;  ///< orders of the killed worker, given to others
  std::size_t take_overs = 0;  ///< locks granted after their holder died
  std::size_t leases_lost = 0, stale_writes = 0, tried_again = 0;
  std::size_t killed = 0;
  std::optional<std::chrono::milliseconds> take_over_delay{};  ///< from the kill to the first take-over
  std::vector<std::chrono::nanoseconds> waits{};               ///< of each order, for its lock
  std::chrono::duration<double> elapsed{};
  std::vector<std::string> problems{};  ///< what must not happen: orders that failed, workers that died by themselves
};

/// Starts the workers, hands the orders out, kills one worker in the middle, and sees its work done by the others. In
/// coordinator.cpp. Throws std::system_error when processes can't be started.
sale_result run_workers(const settings& s, const std::string& title, const std::vector<order>& orders);

/// A worker process, in worker.cpp: serves the tasks from its standard input one after another, and ends when there are
/// no more. Throws what the databases throw as it connects to them.
void run_worker();

}  // namespace flash_sale
