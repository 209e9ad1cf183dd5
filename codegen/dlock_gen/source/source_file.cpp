// SPDX-License-Identifier: BSL-1.0
#include "source/source_file.hpp"

#include <algorithm>
#include <utility>

namespace dlock_gen {

source_file::source_file(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (std::size_t at = 0; at < text_.size(); ++at) {
    if (text_[at] == '\n') line_starts_.push_back(at + 1);
  }
}

position source_file::position_at(std::size_t offset) const noexcept {
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<std::size_t>(next - line_starts_.begin());
  return {static_cast<unsigned>(line), static_cast<unsigned>(offset - line_starts_[line - 1] + 1)};
}

std::string_view source_file::line(unsigned number) const noexcept {
  if (number == 0 || number > line_starts_.size()) return {};
  const auto rest = std::string_view(text_).substr(line_starts_[number - 1]);
  auto found = rest.substr(0, rest.find('\n'));
  if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  return found;
}

}  // namespace dlock_gen
