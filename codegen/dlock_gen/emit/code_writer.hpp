// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include "source/source_file.hpp"

namespace dlock_gen {

/// Writes a source line by line, and keeps #line right: what the author wrote has the author's lines and columns, so
/// that the compiler's message about it stands there.
class code_writer {
 public:
  /// `file`: what the compiler calls the output.
  explicit code_writer(std::string file) : file_(std::move(file)) {}

  /// A line of ours, indented; an empty one for no text.
  void line(std::string_view text = {});
  /// A text of the author's that is written at `where`, in a line for itself and in its column.
  void author(const location& where, std::string_view text);
  /// A line of ours that the compiler is to take for one in the author's line, in no particular column.
  void beside_author(const location& where, std::string_view text);

  void indent(std::size_t by = 2) { depth_ += by; }
  void outdent(std::size_t by = 2) { depth_ -= by; }
  std::string take();

 private:
  void add(std::string_view text);
  void resume();

  std::string file_;
  std::string out_{};
  unsigned line_ = 1;
  std::size_t depth_ = 0;
  bool in_author_ = false;
};

/// A text as a C++ literal.
std::string as_literal(std::string_view text);
/// The text, or if it has line ends or the like a literal of it.
std::string in_one_line(const std::string& text);

}  // namespace dlock_gen
