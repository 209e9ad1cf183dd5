// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

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

/// Raw and ours take turns, first one then the other leading, so that a slow moment of the machine hits both. Prints
/// and returns the median over the rounds of raw/ours: 1 is as fast as raw.
template <class Raw, class Ours>
double compare(const std::string& what, int rounds, int times, const Raw& raw, const Ours& ours) {
  std::vector<double> raws, our, ratios;
  time_us(times / 4 + 1, raw);  // warm up
  time_us(times / 4 + 1, ours);
  for (int round = 0; round < rounds; ++round) {
    double a = 0, b = 0;
    if (round % 2 == 0) {
      a = time_us(times, raw);
      b = time_us(times, ours);
    } else {
      b = time_us(times, ours);
      a = time_us(times, raw);
    }
    raws.push_back(a);
    our.push_back(b);
    ratios.push_back(a / b);
  }
  fmt::print("{:<46} raw {:9.2f} us   dlock {:9.2f} us   raw/dlock {:.3f}  ({} rounds of {})\n", what, median(raws),
             median(our), median(ratios), rounds, times);
  std::fflush(stdout);
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

}  // namespace dlock::bench
