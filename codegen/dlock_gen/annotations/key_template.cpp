// SPDX-License-Identifier: BSL-1.0
#include "annotations/key_template.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "annotations/string_literal.hpp"
#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

bool goes_on(char c) noexcept { return starts_name(c) || (c >= '0' && c <= '9'); }

/// Reads a path from text[from, to).
class path_reader {
 public:
  path_reader(const literal& in, std::size_t from, std::size_t to, diagnostics& out)
      : in_(in), at_(from), end_(to), out_(out) {}

  std::optional<value_path> run() {
    value_path found;
    found.where = in_.at(at_);
    if (!read_name(found.head, "the name of a parameter, or 'this'")) return std::nullopt;
    while (at_ != end_) {
      path_step step;
      step.where = in_.at(at_);
      step.arrow = ahead("->");
      if (!step.arrow && !ahead(".")) return refuse_what_is_here();
      at_ += step.arrow ? 2 : 1;
      if (!read_name(step.name, "the name of a field or getter")) return std::nullopt;
      if (!read_call(step)) return std::nullopt;
      found.steps.push_back(std::move(step));
    }
    return found;
  }

 private:
  std::string_view rest() const { return std::string_view(in_.text).substr(at_, end_ - at_); }
  bool ahead(std::string_view what) const { return rest().starts_with(what); }
  bool refuse(std::string text) {
    out_.error(in_.at(at_), std::move(text));
    return false;
  }
  std::optional<value_path> refuse_what_is_here() {
    if (ahead(" ") || ahead("\t")) {
      refuse("the path of a value has no blanks");
    } else if (ahead("(")) {
      refuse("a parameter is not called: name a getter of it, {order.id()}");
    } else if (ahead(":")) {
      refuse("a value of a key has no format: its text is that of dlock::append_part()");
    } else {
      refuse("expected a path of fields and getters in the braces, such as {order.id} or {order.buyer().name}");
    }
    return std::nullopt;
  }
  bool read_name(std::string& name, const char* expected) {
    if (at_ == end_ || !starts_name(in_.text[at_])) return refuse(fmt::format("expected {}", expected));
    const auto begin = at_;
    while (at_ != end_ && goes_on(in_.text[at_])) ++at_;
    name = in_.text.substr(begin, at_ - begin);
    return true;
  }
  bool read_call(path_step& step) {
    if (!ahead("(")) return true;
    if (!ahead("()")) return refuse("a getter in a path takes no arguments");
    step.call = true;
    at_ += 2;
    return true;
  }

  const literal& in_;
  std::size_t at_;
  std::size_t end_;
  diagnostics& out_;
};

/// Whether the path is written without an escape sequence or a second literal in it.
bool stands_there(const value_path& value) {
  const auto text = value.text();
  return value.where.file->text().substr(value.where.offset, text.size()) == text;
}

class template_reader {
 public:
  template_reader(const literal& in, diagnostics& out) : in_(in), out_(out) {}

  std::optional<key_template> run() {
    if (in_.text.empty()) {
      out_.error(in_.at(0), "the template of the key is empty: write what is locked, for example \"order:{o.id}\"");
      return std::nullopt;
    }
    found_.text = in_.text;
    while (at_ < in_.text.size()) {
      if (!next()) return std::nullopt;
    }
    if (!literal_.empty()) found_.pieces.push_back({literal_, std::nullopt});
    return std::move(found_);
  }

 private:
  bool refuse(std::size_t at, const char* text) {
    out_.error(in_.at(at), text);
    return false;
  }
  bool next() {
    const char c = in_.text[at_];
    const bool doubled = at_ + 1 < in_.text.size() && in_.text[at_ + 1] == c;
    if (c == '{' && !doubled) return read_value();
    if (c == '}' && !doubled) {
      return refuse(at_, "this '}' closes nothing: remove it, or write \"}}\" for a brace itself");
    }
    literal_.push_back(c);
    at_ += c == '{' || c == '}' ? 2 : 1;
    return true;
  }
  bool read_value() {
    const auto close = in_.text.find_first_of("{}", at_ + 1);
    if (close == std::string::npos || in_.text[close] == '{') {
      return refuse(at_, "this '{' is never closed: add '}', or write \"{{\" for a brace itself");
    }
    if (close == at_ + 1) {
      return refuse(at_, "there is nothing in the braces: name the value, for example {o.id}, or write \"{{}}\"");
    }
    if (!found_.pieces.empty() && literal_.find(':') == std::string::npos) {
      return refuse(at_,
                    "two {values} have no ':' between them, so different values could give the same key: write "
                    "\"{a}:{b}\"");
    }
    auto value = path_reader(in_, at_ + 1, close, out_).run();
    if (!value) return false;
    found_.pieces.push_back({std::exchange(literal_, {}), std::move(value)});
    at_ = close + 1;
    return true;
  }

  const literal& in_;
  diagnostics& out_;
  std::size_t at_ = 0;
  std::string literal_{};
  key_template found_{};
};

}  // namespace

std::string path_step::text() const { return fmt::format("{}{}{}", arrow ? "->" : ".", name, call ? "()" : ""); }

std::string value_path::text() const {
  auto all = head;
  for (const auto& each : steps) all += each.text();
  return all;
}

std::string key_template::domain() const {
  std::string all;
  for (const auto& each : pieces) {
    for (const char c : each.literal) all.append(c == '{' || c == '}' ? 2 : 1, c);
    if (each.value) all += "{}";
  }
  return all;
}

std::optional<key_template> read_template(const located_text& from, diagnostics& out) {
  const auto text = read_literal(from, out);
  if (!text) return std::nullopt;
  auto found = template_reader(*text, out).run();
  if (found) {
    for (auto& each : found->pieces) {
      if (each.value) each.value->exact = from.exact && stands_there(*each.value);
    }
  }
  return found;
}

std::optional<value_path> read_path(const located_text& from, diagnostics& out) {
  literal text{from.text, {}};
  for (std::size_t at = 0; at <= from.text.size(); ++at) text.places.push_back(from.at(at));
  auto found = path_reader(text, 0, from.text.size(), out).run();
  if (found) found->exact = from.exact;
  return found;
}

}  // namespace dlock_gen
