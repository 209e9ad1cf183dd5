// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dlock/store_interface/store_url.hpp"

namespace dlock::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

/// Microseconds per call of `work`, called `times` times.
template <class Work>
double time_us(int times, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) work();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return took.count() / times;
}

/// Processor time of this process, in microseconds.
inline double processor_us() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

/// What docs/performance.md promises of a figure.
struct promise {
  double at_least = -std::numeric_limits<double>::infinity();
  double at_most = std::numeric_limits<double>::infinity();
};

/// The figures of a program. Each is printed as a line of JSON to the file that DLOCK_BENCH_JSON names; ./dev bench
/// shows them all at its end. A promise is broken if the better quartile of the rounds breaks it as well: less than
/// that may be the machine's noise.
class figures {
 public:
  static void add(const std::string& name, const std::string& unit, std::vector<double> rounds,
                  const promise& of = {}) {
    std::sort(rounds.begin(), rounds.end());
    const auto quartile = [&](double share) {
      return rounds[static_cast<std::size_t>(share * static_cast<double>(rounds.size() - 1) + 0.5)];
    };
    const double low = quartile(0.25), value = quartile(0.5), high = quartile(0.75);
    const bool broken = high < of.at_least || low > of.at_most;
    const bool missed = value < of.at_least || value > of.at_most;
    std::string asked;
    if (of.at_least > -1e300) asked = fmt::format(", \"at_least\": {:g}", of.at_least);
    if (of.at_most < 1e300) asked += fmt::format(", \"at_most\": {:g}", of.at_most);
    if (const char* const path = std::getenv("DLOCK_BENCH_JSON")) {
      if (std::FILE* const to = std::fopen(path, "a")) {
        fmt::print(to,
                   "{{\"name\": \"{}\", \"unit\": \"{}\", \"median\": {:g}, \"low\": {:g}, \"high\": {:g}, "
                   "\"rounds\": {}{}, \"verdict\": \"{}\"}}\n",
                   name, unit, value, low, high, rounds.size(), asked,
                   broken   ? "broken"
                   : missed ? "within the noise"
                            : "kept");
        std::fclose(to);
      }
    }
    if (broken) {
      fmt::print("  PROMISE BROKEN: {} = {:g} {} ({:g} to {:g}){}\n", name, value, unit, low, high, asked);
      code = 1;
    }
    std::fflush(stdout);
  }
  /// What main() returns.
  static int exit_code() noexcept { return code; }

 private:
  static inline int code = 0;
};

/// How often `work(number of the thread)` was done in a second by so many threads, which begin together.
template <class Work>
double per_second(int threads, std::chrono::milliseconds time, const Work& work) {
  std::atomic<bool> go{false}, over{false};
  std::atomic<long> done{0};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      while (!go) std::this_thread::yield();
      long mine = 0;
      for (; !over; ++mine) work(i);
      done += mine;
    });
  }
  const auto begin = std::chrono::steady_clock::now();
  go = true;
  std::this_thread::sleep_for(time);
  over = true;
  for (auto& each : all) each.join();
  return static_cast<double>(done) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Raw and ours take turns, first one then the other leading, so that a slow moment of the machine hits both. Prints
/// and returns the median over the rounds of raw/ours: 1 is as fast as raw.
template <class Raw, class Ours>
double compare(const std::string& what, int rounds, int times, const Raw& raw, const Ours& ours,
               const promise& promised = {}) {
  std::vector<double> raws, our, used, ratios;
  const auto time_ours = [&] {
    const auto before = processor_us();
    const auto took = time_us(times, ours);
    used.push_back((processor_us() - before) / times);
    return took;
  };
  time_us(times / 4 + 1, raw);  // warm up
  time_us(times / 4 + 1, ours);
  for (int round = 0; round < rounds; ++round) {
    double a = 0, b = 0;
    if (round % 2 == 0) {
      a = time_us(times, raw);
      b = time_ours();
    } else {
      b = time_ours();
      a = time_us(times, raw);
    }
    raws.push_back(a);
    our.push_back(b);
    ratios.push_back(a / b);
  }
  fmt::print("{:<46} raw {:9.2f} us   dlock {:9.2f} us   raw/dlock {:.3f}  ({} rounds of {})\n", what, median(raws),
             median(our), median(ratios), rounds, times);
  figures::add(what + ", of raw", "ratio", ratios, promised);
  figures::add(what, "us", our);
  figures::add(what + ", processor time of the client", "us", used);
  return median(ratios);
}

/// The variable's value; ends the program with a clear text if it is not set.
inline std::string need_env(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) {
    fmt::print(stderr, "{} is not set: run this by ./dev bench, which starts the private server\n", name);
    std::exit(2);
  }
  return value;
}

/// An SQLite file for a benchmark, gone at the end. Beside the binary, not in /tmp, which may be in memory: commits
/// must reach a disk.
struct sqlite_file {
  const std::string path = fmt::format("bench-{}.sqlite", ::getpid());

  sqlite_file() = default;
  sqlite_file(const sqlite_file&) = delete;
  sqlite_file& operator=(const sqlite_file&) = delete;
  ~sqlite_file() {
    for (const char* suffix : {"", "-wal", "-shm", "-wake"}) std::remove((path + suffix).c_str());
  }
};

/// The database of that URL by the private server's unix socket, as all figures are measured.
inline std::string by_socket(const store_url& at, const char* socket = "DLOCK_TEST_MYSQL_SOCKET") {
  return fmt::format("mysql://{}:{}@localhost/{}?socket={}", at.user, at.password, at.path, need_env(socket));
}

}  // namespace dlock::bench
