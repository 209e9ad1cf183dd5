// SPDX-License-Identifier: BSL-1.0
#include "source/lexer.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace dlock_gen {

bool starts_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

class splitter {
 public:
  splitter(std::string_view text, std::size_t begin, std::size_t end) : text_(text.substr(0, end)), at_(begin) {}

  std::vector<token> run() {
    for (;;) {
      skip_what_is_no_word();
      if (at_ >= text_.size()) return std::move(found_);
      next();
    }
  }

 private:
  bool ahead(std::string_view what) const noexcept { return text_.substr(at_).starts_with(what); }
  char peek(std::size_t more = 0) const noexcept { return at_ + more < text_.size() ? text_[at_ + more] : '\0'; }

  void skip_to(std::string_view what, std::size_t more) {
    const auto found = text_.find(what, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + more;
  }
  void skip_line() {
    do {
      skip_to("\n", 1);
    } while (at_ >= 2 && at_ < text_.size() && text_[at_ - 2] == '\\');
  }
  bool at_line_start() const noexcept {
    auto before = at_;
    while (before > 0 && (text_[before - 1] == ' ' || text_[before - 1] == '\t')) --before;
    return before == 0 || text_[before - 1] == '\n';
  }
  void skip_what_is_no_word() {
    for (;;) {
      if (is_blank(peek()) && at_ < text_.size()) {
        ++at_;
      } else if (ahead("//")) {
        skip_line();
      } else if (ahead("/*")) {
        skip_to("*/", 2);
      } else if (peek() == '#' && at_line_start()) {
        skip_line();
      } else if (ahead("\\\n")) {
        at_ += 2;
      } else {
        return;
      }
    }
  }

  void next() {
    const auto begin = at_;
    const auto kind = scan();
    found_.push_back({kind, text_.substr(begin, at_ - begin), begin, at_});
  }

  token_kind scan() {
    if (starts_name(peek())) return scan_name();
    if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) return scan_number();
    if (peek() == '"') return scan_quoted('"', token_kind::text);
    if (peek() == '\'') return scan_quoted('\'', token_kind::character);
    return scan_punctuation();
  }

  token_kind scan_name() {
    const auto begin = at_;
    while (starts_name(peek()) || is_digit(peek())) ++at_;
    const auto name = text_.substr(begin, at_ - begin);
    if (peek() == '"') {
      if (name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R") return scan_raw();
      if (name == "L" || name == "u" || name == "U" || name == "u8") return scan_quoted('"', token_kind::text);
    }
    if (peek() == '\'' && (name == "L" || name == "u" || name == "U" || name == "u8")) {
      return scan_quoted('\'', token_kind::character);
    }
    return token_kind::name;
  }

  token_kind scan_number() {
    while (starts_name(peek()) || is_digit(peek()) || peek() == '.' ||
           (peek() == '\'' && (starts_name(peek(1)) || is_digit(peek(1)))) ||
           ((peek() == '+' || peek() == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))) {
      ++at_;
    }
    return token_kind::number;
  }

  token_kind scan_quoted(char quote, token_kind kind) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(text_.size(), at_ + 1);
    while (starts_name(peek()) || is_digit(peek())) ++at_;  // "..."sv
    return kind;
  }

  token_kind scan_raw() {
    const auto open = text_.find('(', at_);
    if (open == std::string_view::npos) {
      at_ = text_.size();
      return token_kind::text;
    }
    const auto end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    skip_to(end, end.size());
    return token_kind::text;
  }

  token_kind scan_punctuation() {
    // Only operators of several characters that could be mistaken if they were split.
    static constexpr std::array<std::string_view, 15> long_ones{
        "...", "<=>", "->*", "->", "::", "==", "!=", "<=", ">=", "&&", "||", "[[", "]]", "+=", "-="};
    for (const auto each : long_ones) {
      if (ahead(each)) {
        at_ += each.size();
        return token_kind::punctuation;
      }
    }
    ++at_;
    return token_kind::punctuation;
  }

  std::string_view text_;
  std::size_t at_;
  std::vector<token> found_{};
};

}  // namespace

std::vector<token> split(std::string_view text, std::size_t begin, std::size_t end) {
  return splitter(text, begin, end).run();
}

std::size_t index_at(const std::vector<token>& tokens, std::size_t offset) {
  const auto found = std::lower_bound(tokens.begin(), tokens.end(), offset,
                                      [](const token& each, std::size_t value) { return each.begin < value; });
  return static_cast<std::size_t>(found - tokens.begin());
}

std::size_t closing(const std::vector<token>& tokens, std::size_t open) {
  int depth = 0;
  for (auto at = open; at < tokens.size(); ++at) {
    const auto text = tokens[at].text;
    if (text == "(" || text == "[" || text == "{") depth += 1;
    if (text == "[[") depth += 2;
    if (text == ")" || text == "]" || text == "}") depth -= 1;
    if (text == "]]") depth -= 2;
    if (depth <= 0) return at;
  }
  return tokens.size();
}

}  // namespace dlock_gen
