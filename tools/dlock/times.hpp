// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace dlock::command {

/// Reads "500ms", "30s", "5m", "2h", "1d", or "0". Throws std::invalid_argument with what is wrong.
std::chrono::milliseconds parse_time(std::string_view text);

/// As parse_time() takes it: "90s" for 90 s, "2h" for 120 minutes.
std::string option_time(std::chrono::milliseconds time);

/// For people: "350 us", "12 ms", "3.4 s", "5m12s", "2h03m", "4d05h".
std::string print_time(std::chrono::microseconds time);

}  // namespace dlock::command
