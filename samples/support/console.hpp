// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace support {

/// 1234567 -> "1,234,567"
template <class Number>
std::string grouped(Number number) {
  auto text = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (auto at = text.size(); at > sign + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

/// How far something is: a bar that is drawn again and again on a terminal, a line a second elsewhere.
class progress {
 public:
  progress(std::string title, std::size_t total) : title_(std::move(title)), total_(total) {}

  /// Does nothing where it was drawn a moment ago; not so at the last time, which ends the line.
  void draw(std::size_t done, std::size_t workers, bool last) {
    const auto now = clock::now();
    if (!last && now - drawn_ < std::chrono::milliseconds{terminal_ ? 100 : 1'000}) return;
    drawn_ = now;
    constexpr std::size_t width = 16;  // the whole line fits into 80 columns
    const auto full = done * width / total_;
    const auto speed = static_cast<double>(done) / std::chrono::duration<double>(now - start_).count();
    fmt::print("{}{:<13} [{:#<{}}{:.<{}}] {:>3} %  {}/{}  {}/s  {} workers{}", again_, title_, "", full, "",
               width - full, done * 100 / total_, grouped(done), grouped(total_), grouped(static_cast<long>(speed)),
               workers, terminal_ && !last ? "" : "\n");
    std::fflush(stdout);
  }
  /// A line of its own; the bar goes on below it.
  void note(const std::string& text) { fmt::print("{}  {}\n", again_, text); }

 private:
  using clock = std::chrono::steady_clock;
  const std::string title_;
  const std::size_t total_;
  const bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
  const char* const again_ = terminal_ ? "\r\x1b[2K" : "";
  const clock::time_point start_ = clock::now();
  clock::time_point drawn_{};
};

}  // namespace support
