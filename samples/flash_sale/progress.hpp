// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace flash_sale {

/// How far a run is: a bar that is drawn again and again on a terminal, a line a second elsewhere. Writes to stdout.
class progress {
 public:
  progress(std::string title, std::size_t total);
  void update(std::size_t done, std::size_t workers);
  /// A line of its own; the bar goes on below it.
  void note(std::string_view text);
  /// The last state stays on the screen.
  void finish(std::size_t done, std::size_t workers);

 private:
  using clock = std::chrono::steady_clock;
  void draw(std::size_t done, std::size_t workers);

  std::string title_;
  std::size_t total_;
  bool terminal_;
  clock::time_point start_ = clock::now();
  clock::time_point drawn_{};
};

/// 1234567 -> "1,234,567"
std::string grouped(long long number);

}  // namespace flash_sale
