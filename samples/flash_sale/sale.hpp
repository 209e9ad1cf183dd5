// SPDX-License-Identifier: GPL-2.0-or-later
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
#include "generator.hpp"

namespace flash_sale {

/// The command line.
struct settings {
  generator_options input{};
  std::filesystem::path folder{};  ///< where files are written
  std::filesystem::path products{};
  std::filesystem::path orders{};
  std::string database = "sqlite";
  // For SQLite the URLs stay empty: the files are made below `folder`.
  std::string locks_url{};  ///< where dlock keeps its locks
  std::string owner_url{};  ///< the same database, by a user that may make the lock tables; empty: locks_url may
  std::string shop_url{};   ///< where the shop keeps its data
  bool locked = true;
  std::size_t workers = 4;
  bool kill_one = true;    ///< if there are others
  long think_us = 1'000;   ///< how long the payment service takes
  long ttl_ms = 2'000;     ///< how long a dead worker's lock stays taken
  std::size_t worker = 0;  ///< number of this process among the workers
};

/// What the workers have told of a sale.
struct sale_result {
  std::size_t sold = 0, sold_out = 0, duplicates = 0;  ///< as the workers told
  std::size_t done_again = 0;                          ///< orders of the killed worker, given to others
  std::size_t take_overs = 0;                          ///< locks granted after their holder died
  std::size_t leases_lost = 0, stale_writes = 0, tried_again = 0;
  std::size_t killed = 0;
  std::optional<std::chrono::milliseconds> take_over_delay{};  ///< from the kill to the first take-over
  std::vector<std::uint32_t> waits_us{};                       ///< of each order, for its lock
  std::chrono::milliseconds elapsed{0};
  std::vector<std::string> problems{};  ///< what must not happen: orders that failed, workers that died by themselves
};

/// What the books say after a sale. Takes nobody's word: reads the shop's tables and the input only.
struct audit {
  std::int64_t sold_orders = 0;      ///< rows of the order book
  std::int64_t refused_orders = 0;   ///< rows too: sold out
  std::int64_t oversold_units = 0;   ///< sold beyond what was in stock, over all products
  std::int64_t books_off = 0;        ///< units by which stock before - sold differs from stock after
  std::int64_t lost_orders = 0;      ///< good orders without an answer in the book
  std::int64_t served_twice = 0;     ///< rows beyond the first of an order
  std::int64_t wrongly_refused = 0;  ///< refused for want of stock though that much is left over
};

/// One run, ready for the table.
struct run_report {
  std::string title{};
  bool locked = true;
  std::filesystem::path folder{};  ///< of databases and logs
  sale_result sale{};
  audit books{};
};

/// A sale from beginning to end, in the folder s.folder: databases, worker processes, audit. In sale.cpp. Throws
/// std::invalid_argument, odb::exception, dlock::store_error, std::system_error.
run_report run_sale(settings s, const std::vector<product>& products, const std::vector<order>& orders);

/// Starts the workers, hands the orders out, kills one worker in the middle, and sees its work done by the others. In
/// coordinator.cpp. Throws std::system_error when processes can't be started.
sale_result run_workers(const settings& s, const std::string& title, const std::vector<order>& orders);

/// A worker process, in worker.cpp: it is sent indexes of orders over its standard input, serves them one after another,
/// and ends when there are no more. Throws what the databases throw as it connects to them.
void run_worker(const settings& s);

/// What a worker says to the coordinator, about the order with this index.
struct message {
  enum class kind {
    entered,      ///< it has the lock; waited_us, taken_over
    answered,     ///< answer; the lock is still held
    stale_write,  ///< a write was refused
    left,         ///< it has left the lock without an answer, and tries again
    failed,       ///< it has tried often enough; its log says why
    lease_lost,   ///< of no order
  };
  kind what{};
  std::size_t index = 0;
  std::int64_t waited_us = 0;
  bool taken_over = false;  ///< from a holder that died
  outcome answer = outcome::sold;
};

}  // namespace flash_sale
