// SPDX-License-Identifier: BSL-1.0
// A job that is due in each period. Several processes wake up for it, so that it runs even if some of them are down;
// the lock lets one of them run it.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/command_line.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::system_clock;
using std::chrono::milliseconds;

constexpr milliseconds period = 300ms;

struct settings {
  std::string url = "sqlite:locks.db";
  int workers = 4;
  int periods = 5;
  long min_hold_ms = 30'000;
  int worker = 0;          // which one this process is; 0: the one that starts the others
  std::int64_t first = 0;  // number of the first period
};

// Periods are numbered by the clock, so all processes agree about the number without talking to each other.
clock::time_point begin_of(std::int64_t number) { return clock::time_point(number * period); }

// What happened, one line each, by whoever it happened to: "ran" or "skipped", period, worker, ms after its begin.
constexpr const char* journal = "job_journal.txt";

void note(const char* event, std::int64_t number, int worker) {
  const auto late = std::chrono::duration_cast<milliseconds>(clock::now() - begin_of(number)).count();
  std::ofstream out(journal, std::ios::app);
  if (!(out << fmt::format("{} {} {} {}\n", event, number, worker, late) << std::flush)) {
    throw std::runtime_error("cannot write job_journal.txt");
  }
}

// The job itself: it takes 20 ms and has no protection of its own.
void make_report(std::int64_t number, int worker) {
  note("ran", number, worker);
  std::this_thread::sleep_for(20ms);
}

// [scheduled_job]
/// Every process calls it in every period; the job runs in one of them.
/// The job is soon done, and another process may ask a little later: its clock is behind, its machine is busy. So the
/// key stays taken for min_hold, which must be longer than anybody can be late. If the process that runs the job dies
/// in the midst of it, that ends its hold: the key is free after ttl.
void when_due(std::int64_t number, int worker, milliseconds min_hold) {
  DISTRIBUTED_TRY_LOCKED(dlock::key<"report:{period}">(number), {.ttl = 5s, .min_hold = min_hold}) {
    make_report(number, worker);
  }
  else {
    note("skipped", number, worker);  // it runs elsewhere, or has run
  }
}
// [/scheduled_job]

void work(const settings& s) {
  dlock::lock_service locks{s.url, {.label = fmt::format("scheduler {}", s.worker)}};
  dlock::set_default_service(locks);
  for (std::int64_t number = s.first; number != s.first + s.periods; ++number) {
    // Nobody is exactly on time; another one is the first in each period.
    std::this_thread::sleep_until(begin_of(number) + (s.worker + number) % s.workers * 40ms);
    when_due(number, s.worker, milliseconds(s.min_hold_ms));
  }
}

struct outcome {
  std::vector<std::string> runs{};
  int skipped = 0;
};

std::map<std::int64_t, outcome> read_journal() {
  std::map<std::int64_t, outcome> periods;
  std::ifstream in(journal);
  std::string event;
  std::int64_t number = 0;
  int worker = 0;
  long late = 0;
  while (in >> event >> number >> worker >> late) {
    auto& run = periods[number];
    if (event == "ran") {
      run.runs.push_back(fmt::format("worker {} at +{} ms", worker, late));
    } else {
      ++run.skipped;
    }
  }
  return periods;
}

bool report(const settings& s) {
  const auto periods = read_journal();
  bool right = static_cast<int>(periods.size()) == s.periods;
  for (const auto& [number, found] : periods) {
    std::string runs;
    for (const auto& each : found.runs) runs += (runs.empty() ? "" : ", ") + each;
    fmt::print("period {}: {}; {} came and found it taken\n", number - s.first + 1, runs, found.skipped);
    right = right && found.runs.size() == 1;
  }
  fmt::print("{}\n", right ? "one run in each period" : "WRONG: not one run in each period");
  return right;
}

bool run(const settings& s) {
  const auto first = (clock::now() + 1s).time_since_epoch() / period + 1;
  fmt::print("{} processes, {} periods of {} ms, one job; the locks are in {}\n", s.workers, s.periods, period.count(),
             dlock::store_url::parse(s.url).redacted());
  std::filesystem::remove(journal);
  std::vector<support::process> workers;
  for (int i = 1; i <= s.workers; ++i) {
    workers.emplace_back(std::vector<std::string>{
        "--worker", std::to_string(i), "--first", std::to_string(first), "--workers", std::to_string(s.workers),
        "--periods", std::to_string(s.periods), "--min-hold", std::to_string(s.min_hold_ms)});
  }
  bool all_well = true;
  for (std::size_t i = 0; i != workers.size(); ++i) {
    if (const int code = workers[i].wait(); code != 0) {
      fmt::print("worker {} ended with code {}\n", i + 1, code);
      all_well = false;
    }
  }
  settings known = s;
  known.first = first;
  return report(known) && all_well;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"One of several processes runs the job of each period"};
  settings s;
  options.database(s.url);
  options.number("--workers", s.workers, 1, 7, "Processes");
  options.number("--periods", s.periods, 1, 1000, "How often the job is due");
  options.number("--min-hold", s.min_hold_ms, 0, 3'600'000,
                 "How long the key stays taken, in ms; 0: as long as the job runs");
  options.hidden("--worker", s.worker);  // the program starts itself with these two
  options.hidden("--first", s.first);
  return support::run_process(
      options, argc, argv, s.url, s.worker, [&] { return run(s); }, [&] { work(s); });
}
