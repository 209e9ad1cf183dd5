// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Which process began and did which work of once(), in one file that all of them append to.

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "process/record_log.hpp"

namespace dlock::test {

/// One line of the log. Times are CLOCK_BOOTTIME in microseconds, which all processes of a host share.
struct once_record {
  enum class kind : char {
    began = 'B',  ///< the function runs; `at` was read before its lease was asked whether it can be trusted
    did = 'D',    ///< once() has said that this call did the work; `at` was read after that
  };
  kind what{};
  std::string key{};
  std::int64_t at = 0;
  std::int64_t process = 0;  ///< its pid

  std::string line() const { return fmt::format("{} {} {} {}\n", static_cast<char>(what), key, at, process); }
  static once_record parse(const std::string& line) {
    std::istringstream words(line);
    char what = 0;
    once_record made;
    words >> what >> made.key >> made.at >> made.process;
    if (words.fail() || (what != 'B' && what != 'D')) throw std::invalid_argument("once_record: " + line);
    made.what = static_cast<kind>(what);
    return made;
  }
};

using once_log = record_log<once_record>;

/// What is wrong: work that two calls claim to have done, and work that began, under a lease that was trusted, when it
/// was done already.
inline std::vector<std::string> check_once(const std::vector<once_record>& log) {
  std::vector<std::string> wrong;
  std::map<std::string, std::int64_t> done;
  for (const auto& each : log) {
    if (each.what != once_record::kind::did) continue;
    if (!done.emplace(each.key, each.at).second)
      wrong.push_back(fmt::format("{} was done again, at {} by {}", each.key, each.at, each.process));
  }
  for (const auto& each : log) {
    const auto found = done.find(each.key);
    if (each.what == once_record::kind::began && found != done.end() && each.at > found->second)
      wrong.push_back(
          fmt::format("{} began at {} in {}, and was done at {}", each.key, each.at, each.process, found->second));
  }
  return wrong;
}

}  // namespace dlock::test
