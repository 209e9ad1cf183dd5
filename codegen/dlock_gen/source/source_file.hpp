// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlock_gen {

/// A place in a file, as compilers print it: from 1 on, columns in bytes.
struct position {
  unsigned line = 0;
  unsigned column = 0;
};

/// The text of one file.
class source_file {
 public:
  source_file(std::string path, std::string text);

  const std::string& path() const noexcept { return path_; }
  std::string_view text() const noexcept { return text_; }
  position position_at(std::size_t offset) const noexcept;
  /// The line without its end; empty if there is none with that number.
  std::string_view line(unsigned number) const noexcept;

 private:
  std::string path_;
  std::string text_;
  std::vector<std::size_t> line_starts_{};
};

/// Where something is written. `file` lives as long as the run.
struct location {
  const source_file* file = nullptr;
  std::size_t offset = 0;

  position at() const noexcept { return file == nullptr ? position{} : file->position_at(offset); }
};

/// A text, and its origin. The whole of a text that comes from another macro of the author has the location of that
/// macro.
struct located_text {
  std::string text{};
  location where{};
  bool exact = true;

  location at(std::size_t offset) const noexcept { return exact ? location{where.file, where.offset + offset} : where; }
  located_text part(std::size_t from, std::size_t to) const { return {text.substr(from, to - from), at(from), exact}; }
};

}  // namespace dlock_gen
