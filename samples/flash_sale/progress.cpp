// SPDX-License-Identifier: GPL-2.0-or-later
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace flash_sale {

progress::progress(std::string title, std::size_t total)
    : title_(std::move(title)), total_(total), terminal_(::isatty(STDOUT_FILENO) == 1) {}

void progress::update(std::size_t done, std::size_t workers) {
  const auto now = clock::now();
  if (now - drawn_ < (terminal_ ? std::chrono::milliseconds{100} : std::chrono::milliseconds{1'000})) return;
  drawn_ = now;
  draw(done, workers);
}

void progress::note(std::string_view text) {
  fmt::print("{}  {}\n", terminal_ ? "\r\x1b[2K" : "", text);
  std::fflush(stdout);
}

void progress::finish(std::size_t done, std::size_t workers) {
  draw(done, workers);
  if (terminal_) fmt::print("\n");
}

void progress::draw(std::size_t done, std::size_t workers) {
  constexpr std::size_t width = 16;  // the whole line fits into 80 columns
  const auto full = total_ == 0 ? width : done * width / total_;
  const std::chrono::duration<double> elapsed = clock::now() - start_;
  const auto text = fmt::format("{} [{:#<{}}{:.<{}}] {:>3} %  {}/{}  {}/s  {} workers", title_, "", full, "",
                                width - full, total_ == 0 ? 100 : done * 100 / total_,
                                grouped(static_cast<long long>(done)), grouped(static_cast<long long>(total_)),
                                grouped(static_cast<long long>(static_cast<double>(done) / elapsed.count())), workers);
  fmt::print("{}{}{}", terminal_ ? "\r\x1b[2K" : "", text, terminal_ ? "" : "\n");
  std::fflush(stdout);
}

std::string grouped(long long number) {
  auto text = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (auto at = text.size(); at > sign + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace flash_sale
