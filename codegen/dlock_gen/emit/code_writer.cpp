// SPDX-License-Identifier: BSL-1.0
#include "emit/code_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dlock_gen {

void code_writer::add(std::string_view text) {
  out_ += text;
  out_ += '\n';
  line_ += 1 + static_cast<unsigned>(std::count(text.begin(), text.end(), '\n'));
}

void code_writer::resume() {
  if (!in_author_) return;
  in_author_ = false;
  add(fmt::format("#line {} {}", line_ + 1, as_literal(file_)));
}

void code_writer::line(std::string_view text) {
  resume();
  add(text.empty() ? std::string() : std::string(depth_, ' ') + std::string(text));
}

void code_writer::author(const location& where, std::string_view text) {
  const auto [number, column] = where.at();
  add(fmt::format("#line {} {}", number, as_literal(where.file->path())));
  add(std::string(column > 0 ? column - 1 : 0, ' ') + std::string(text));
  in_author_ = true;
}

void code_writer::beside_author(const location& where, std::string_view text) {
  add(fmt::format("#line {} {}", where.at().line, as_literal(where.file->path())));
  add(std::string(depth_, ' ') + std::string(text));
  in_author_ = true;
}

std::string code_writer::take() {
  resume();
  return std::move(out_);
}

std::string as_literal(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      all += '\\';
      all += c;
    } else if (c == '\n') {
      all += "\\n";
    } else if (c == '\t') {
      all += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      all += fmt::format("\\{:03o}", byte);
    } else {
      all += c;
    }
  }
  return all + "\"";
}

std::string in_one_line(const std::string& text) {
  const bool plain = std::none_of(text.begin(), text.end(), [](char each) {
    return each == '\\' || static_cast<unsigned char>(each) < 0x20 || each == 0x7f;
  });
  return plain ? text : as_literal(text);
}

}  // namespace dlock_gen
