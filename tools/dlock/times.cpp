// SPDX-License-Identifier: BSL-1.0
#include "times.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

namespace dlock::command {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

milliseconds parse_time(std::string_view text) {
  const auto refuse = [&](const char* why) {
    throw std::invalid_argument(fmt::format("'{}' {}: write 500ms, 30s, 5m, 2h or 1d", text, why));
  };
  long long number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || number < 0) refuse("is not a time");
  const auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty() && number == 0) return 0ms;
  if (unit.empty()) refuse("has no unit");
  const milliseconds of_unit = unit == "ms"  ? 1ms
                               : unit == "s" ? milliseconds{1s}
                               : unit == "m" ? milliseconds{1min}
                               : unit == "h" ? milliseconds{1h}
                               : unit == "d" ? milliseconds{24h}
                                             : 0ms;
  if (of_unit == 0ms) refuse("has an unknown unit");
  constexpr milliseconds most = std::chrono::hours{24 * 365'000};
  if (number > most / of_unit) refuse("is too long");
  return number * of_unit;
}

std::string option_time(milliseconds time) {
  const auto ms = time.count();
  if (ms == 0) return "0";
  if (ms % 86'400'000 == 0) return fmt::format("{}d", ms / 86'400'000);
  if (ms % 3'600'000 == 0) return fmt::format("{}h", ms / 3'600'000);
  if (ms % 60'000 == 0) return fmt::format("{}m", ms / 60'000);
  return ms % 1'000 == 0 ? fmt::format("{}s", ms / 1'000) : fmt::format("{}ms", ms);
}

std::string print_time(std::chrono::microseconds time) {
  const auto us = time.count();
  if (us < 0) return "0";
  if (us < 1'000) return fmt::format("{} us", us);
  if (us < 1'000'000) return fmt::format("{} ms", us / 1'000);
  if (us < 60'000'000) return fmt::format("{:.1f} s", static_cast<double>(us / 100'000) / 10);
  const auto seconds = us / 1'000'000;
  if (seconds < 3'600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}m", seconds / 3'600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86'400, seconds / 3'600 % 24);
}

}  // namespace dlock::command
