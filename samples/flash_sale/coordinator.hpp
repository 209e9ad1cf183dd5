// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// Runs one sale: starts worker processes, hands the orders out, kills one worker in the middle, sees its
/// work done by the others.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel.hpp"
#include "model.hpp"
#include "progress.hpp"

namespace flash_sale {

struct sale_options {
  std::string title{};             ///< shown beside the progress bar
  std::filesystem::path folder{};  ///< for the workers' logs; exists
  std::string shop_url{};
  std::string locks_url{};  ///< empty: without locks
  std::size_t workers = 4;  ///< at least 1
  bool kill_one = true;     ///< needs two workers
  std::chrono::microseconds think{1'000};
  std::chrono::milliseconds ttl{2'000};
  std::chrono::milliseconds wait{30'000};
};

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

class coordinator {
 public:
  coordinator(sale_options options, const std::vector<order>& orders);
  coordinator(const coordinator&) = delete;
  coordinator& operator=(const coordinator&) = delete;
  /// Kills workers that are still there.
  ~coordinator();

  /// Call once. Throws std::system_error when processes can't be started.
  sale_result run();

 private:
  using clock = std::chrono::steady_clock;
  struct worker_process {
    std::size_t number;
    pid_t pid;
    channel link;
    std::vector<std::size_t> given{};     ///< orders it has not answered, by index
    std::optional<std::size_t> inside{};  ///< the order that it is serving under the lock
    bool said_bye = false;
    bool alive = true;
  };

  void start(std::size_t number);
  void hand_out();
  void wait_for_messages();
  void take(worker_process& from);
  void handle(worker_process& from, const message& m);
  void entered(worker_process& from, const message& m);
  void finish(worker_process& from, std::size_t index);
  void kill_if_inside(worker_process& victim);
  void bury(worker_process& dead, bool on_purpose);
  void end();
  std::size_t living() const;

  sale_options options_;
  const std::vector<order>& orders_;
  std::deque<std::size_t> waiting_{};  ///< orders that nobody has
  std::vector<std::unique_ptr<worker_process>> workers_{};
  std::size_t done_ = 0;
  clock::time_point killed_at_{};
  clock::time_point last_message_{};
  progress progress_;
  sale_result result_{};
};

}  // namespace flash_sale
