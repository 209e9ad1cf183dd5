// SPDX-License-Identifier: BSL-1.0
#include "annotations/string_literal.hpp"

#include <fmt/format.h>

#include <string_view>

#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

bool is_octal(char c) noexcept { return c >= '0' && c <= '7'; }
int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class literal_reader {
 public:
  literal_reader(const located_text& from, diagnostics& out) : from_(from), out_(out) {}

  std::optional<literal> run() {
    const auto tokens = split(from_.text);
    if (tokens.empty()) return refuse(token{}, "expected a string literal");
    for (const auto& each : tokens) {
      if (each.kind != token_kind::text) return refuse(each, "expected a string literal");
      const bool read = each.text.front() == 'R' ? read_raw(each) : read_plain(each);
      if (!read) return std::nullopt;
    }
    return std::move(found_);
  }

 private:
  std::optional<literal> refuse(const token& what, std::string text) {
    out_.error(from_.at(what.begin), std::move(text), what.text.size());
    return std::nullopt;
  }
  void add(char byte, std::size_t offset) {
    found_.text.push_back(byte);
    found_.places.insert(found_.places.begin() + static_cast<std::ptrdiff_t>(found_.text.size() - 1), from_.at(offset));
  }
  void end_at(std::size_t offset) {
    found_.places.resize(found_.text.size());
    found_.places.push_back(from_.at(offset));
  }

  bool read_raw(const token& what) {
    const auto open = what.text.find('(');
    const auto close = what.text.rfind(')');
    if (what.text.back() != '"' || open == std::string_view::npos || close == std::string_view::npos || close < open) {
      refuse(what, "this string literal has a suffix: write it without");
      return false;
    }
    for (auto at = open + 1; at < close; ++at) add(what.text[at], what.begin + at);
    end_at(what.begin + close);
    return true;
  }

  bool read_plain(const token& what) {
    if (what.text.front() != '"' || what.text.size() < 2 || what.text.back() != '"') {
      refuse(what, "this string literal has a prefix or suffix: write it without");
      return false;
    }
    std::size_t at = 1;
    while (at < what.text.size() - 1) {
      if (what.text[at] != '\\') {
        add(what.text[at], what.begin + at);
        ++at;
      } else if (!read_escape(what, at)) {
        return false;
      }
    }
    end_at(what.begin + what.text.size() - 1);
    return true;
  }

  /// `at` is at the backslash, and afterwards behind the sequence.
  bool read_escape(const token& what, std::size_t& at) {
    static constexpr std::string_view letters = "abfnrtv'\"?\\";
    static constexpr std::string_view bytes = "\a\b\f\n\r\t\v'\"?\\";
    const auto begin = at++;
    const char letter = what.text[at];
    unsigned value = 0;
    if (const auto known = letters.find(letter); known != std::string_view::npos) {
      value = static_cast<unsigned char>(bytes[known]);
      ++at;
    } else if (is_octal(letter)) {
      for (int digits = 0; digits < 3 && is_octal(what.text[at]); ++digits) {
        value = value * 8 + static_cast<unsigned>(what.text[at++] - '0');
      }
    } else if (letter == 'x' && hex_value(what.text[at + 1]) >= 0) {
      for (++at; hex_value(what.text[at]) >= 0; ++at) {
        value = value * 16 + static_cast<unsigned>(hex_value(what.text[at]));
      }
    } else {
      out_.error(from_.at(what.begin + begin), "dlock-gen does not read this escape sequence", 2);
      return false;
    }
    add(static_cast<char>(value), what.begin + begin);
    return true;
  }

  const located_text& from_;
  diagnostics& out_;
  literal found_{};
};

}  // namespace

std::optional<literal> read_literal(const located_text& from, diagnostics& out) {
  return literal_reader(from, out).run();
}

}  // namespace dlock_gen
