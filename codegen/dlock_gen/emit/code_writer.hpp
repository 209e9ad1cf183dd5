// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include "source/source_file.hpp"

namespace dlock_gen {

/// Writes a source line by line, with #line directives: the author's text keeps the author's lines and columns, so that
/// the compiler's messages about it point there.
class code_writer {
 public:
  /// `file` is the compiler's name for the output.
  explicit code_writer(std::string file) : file_(std::move(file)) {}

  /// A line of ours, indented; an empty one for no text.
  void line(std::string_view text = {});
  /// A text of the author from `where`, on a separate line and in its column.
  void author(const location& where, std::string_view text);
  /// A line of ours that the compiler should report at the author's line, in no particular column.
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
/// The text, or a literal of it if it contains line ends or the like.
std::string in_one_line(const std::string& text);

}  // namespace dlock_gen
