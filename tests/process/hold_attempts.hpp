// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The attempts of a hold_log, as its checks read them.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "process/hold_log.hpp"

namespace dlock::test {

/// An acquire, and how long the lease was trusted that it got.
struct hold_attempt {
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  bool answered = false;
  bool held = false;
  std::uint32_t units = 0;  // 0: exclusive
  std::uint32_t permits = 0;
  std::uint64_t fence = 0;
  std::int64_t asked = 0;
  std::int64_t ended = never;  // the wait, in whatever way
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t process = 0;

  bool exclusive() const { return units == 0; }
  bool reader() const { return units != 0 && permits == std::numeric_limits<std::uint32_t>::max(); }
  std::string text() const {
    const auto mode = exclusive() ? "" : reader() ? " (reader)" : fmt::format(" ({} of {})", units, permits);
    return fmt::format("fence {}{} of process {} from {} to {}", fence, mode, process, begin, end);
  }
};

using hold_attempts = std::map<std::tuple<std::int64_t, std::uint64_t>, hold_attempt>;  // by process and number

inline void add(hold_attempts& to, const hold_record& record) {
  using kind = hold_record::kind;
  auto& mine = to[{record.process, record.attempt}];
  mine.process = record.process;
  mine.units = record.units;
  mine.permits = record.permits;
  if (record.what == kind::asked) {
    mine.asked = record.at;
  } else {
    mine.ended = std::min(mine.ended, record.at);
  }
  if (record.what == kind::refused || record.what == kind::held) mine.answered = true;
  if (record.what != kind::held) return;
  mine.begin = mine.held ? std::min(mine.begin, record.at) : record.at;
  mine.end = std::max(mine.end, record.at);
  mine.fence = record.fence;
  mine.held = true;
}

/// By key.
inline std::map<std::string, hold_attempts> attempts_of(const std::vector<hold_record>& log) {
  std::map<std::string, hold_attempts> keys;
  for (const auto& record : log) add(keys[record.key], record);
  return keys;
}

/// In the order in which they began.
inline std::vector<hold_attempt> held_of(const hold_attempts& all) {
  std::vector<hold_attempt> held;
  for (const auto& [name, each] : all) {
    if (each.held) held.push_back(each);
  }
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return held;
}

}  // namespace dlock::test
