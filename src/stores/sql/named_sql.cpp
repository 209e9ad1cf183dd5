// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/named_sql.hpp"

#include <algorithm>

namespace dlock::stores::sql {

namespace {

bool begins_name(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool continues_name(char c) noexcept { return begins_name(c) || (c >= '0' && c <= '9') || c == '_'; }

/// Where the quoted text that begins at `at` ends. A doubled quotation mark inside reads as the border of two texts.
std::size_t end_of_quoted(std::string_view sql, std::size_t at) noexcept {
  const auto end = sql.find(sql[at], at + 1);
  return end == std::string_view::npos ? sql.size() : end + 1;
}

bool quotes(char c) noexcept { return c == '\'' || c == '"' || c == '`'; }

/// Calls parameter(name) for each parameter and text(part) for the text between them, in their order.
template <class Text, class Parameter>
void read_parts(std::string_view sql, Text&& text, Parameter&& parameter) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < sql.size();) {
    if (quotes(sql[at])) {
      at = end_of_quoted(sql, at);
    } else if (sql[at] == ':' && at + 1 < sql.size() && begins_name(sql[at + 1])) {
      text(sql.substr(begin, at - begin));
      for (begin = ++at; at < sql.size() && continues_name(sql[at]);) ++at;
      parameter(sql.substr(begin, at - begin));
      begin = at;
    } else {
      ++at;
    }
  }
  text(sql.substr(begin));
}

[[noreturn]] void fail_unknown(std::string_view statement, std::string_view parameter) {
  throw std::logic_error(
      fmt::format("dlock: SQL '{}' has the parameter ':{}', which is not known", statement, parameter));
}

template <class Values>
void expect_used(std::string_view sql, const char* kind, const Values& values, const std::vector<bool>& used) {
  const auto unused = std::find(used.begin(), used.end(), false) - used.begin();
  if (static_cast<std::size_t>(unused) == used.size()) return;
  throw std::logic_error(
      fmt::format("dlock: SQL '{}' does not use the {} '{}'", sql, kind, (values.begin() + unused)->name));
}

/// Calls value(v) for the value of each parameter. Each parameter must have a value, and each value must be used.
template <class Values, class Text, class Value>
void put_values(std::string_view sql, const Values& values, Text&& text, Value&& value) {
  std::vector<bool> used(values.size());
  read_parts(sql, text, [&](std::string_view name) {
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.name == name; });
    if (found == values.end()) fail_unknown(sql, name);
    used[static_cast<std::size_t>(found - values.begin())] = true;
    value(*found);
  });
  expect_used(sql, "parameter", values, used);
}

const named_part* find_part(std::initializer_list<named_part> parts, std::string_view name) noexcept {
  const auto* const found =
      std::find_if(parts.begin(), parts.end(), [&](const auto& each) { return each.name == name; });
  return found == parts.end() ? nullptr : found;
}

}  // namespace

std::string expand(std::string_view sql, const std::function<std::optional<std::string>(std::string_view)>& text_of) {
  std::string expanded;
  expanded.reserve(sql.size() * 2);
  for (std::string_view rest = sql; !rest.empty();) {
    const auto open = rest.find('{');
    expanded.append(rest.substr(0, open));
    if (open == std::string_view::npos) break;
    const auto close = rest.find('}', open);
    const auto name = rest.substr(open + 1, close == std::string_view::npos ? close : close - open - 1);
    const auto text = text_of(name);
    if (close == std::string_view::npos || !text) {
      throw std::logic_error(
          fmt::format("dlock: SQL '{}' has the placeholder '{{{}}}', which is not known", sql, name));
    }
    expanded.append(*text);
    rest.remove_prefix(close + 1);
  }
  return expanded;
}

std::string expand(const table_names& names, std::string_view sql, std::initializer_list<named_part> parts) {
  std::vector<bool> used(parts.size());
  auto expanded = expand(sql, [&](std::string_view name) -> std::optional<std::string> {
    if (const auto* const part = find_part(parts, name); part != nullptr) {
      used[static_cast<std::size_t>(part - parts.begin())] = true;
      return std::string(part->text);
    }
    if (const auto* const known = names.find(name); known != nullptr) return *known;
    return std::nullopt;
  });
  expect_used(sql, "part", parts, used);
  return expanded;
}

std::string expand_any(std::string_view sql, std::initializer_list<named_part> parts) {
  return expand(sql, [&](std::string_view name) -> std::optional<std::string> {
    const auto* const part = find_part(parts, name);
    return part == nullptr ? std::nullopt : std::optional(std::string(part->text));
  });
}

dictionary& dictionary::set(std::string_view name, std::string value) {
  const auto at = std::find_if(values_.begin(), values_.end(), [&](const auto& each) { return each.first == name; });
  if (at != values_.end()) {
    at->second = std::move(value);
  } else {
    values_.emplace_back(name, std::move(value));
  }
  return *this;
}

dictionary& dictionary::prefer(word_list words) {
  words_.insert(words_.begin(), words);
  return *this;
}

std::optional<std::string> dictionary::find(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return value;
  }
  for (const auto& list : words_) {
    for (const auto& word : list) {
      if (word.name == name) return expand(word.text);
    }
  }
  const auto* const text = names_ == nullptr ? nullptr : names_->find(name);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

std::string dictionary::expand(std::string_view text) const {
  return sql::expand(text, [this](std::string_view name) { return find(name); });
}

std::string in_one_line(std::string_view sql) {
  std::string line;
  line.reserve(sql.size());
  for (std::size_t at = 0; at < sql.size();) {
    const auto blank = sql.find_first_not_of(" \n", at);
    if (blank == std::string_view::npos) break;
    if (blank != at && !line.empty()) line += ' ';
    at = blank;
    const auto end = quotes(sql[at]) ? end_of_quoted(sql, at) : std::min(sql.find_first_of(" \n'\"`", at), sql.size());
    line.append(sql.substr(at, end - at));
    at = end;
  }
  return line;
}

std::string bare_name(std::string_view name, char quote) {
  std::string part;
  bool inside = false;
  for (std::size_t i = 0; i != name.size(); ++i) {
    if (name[i] == quote) {
      if (inside && i + 1 != name.size() && name[i + 1] == quote) {
        part += name[++i];
      } else {
        inside = !inside;
      }
    } else if (name[i] == '.' && !inside) {
      part.clear();
    } else {
      part += name[i];
    }
  }
  return part;
}

std::string quoted_name(std::string_view name, char quote) {
  std::string text(1, quote);
  for (const char c : name) text.append(c == quote ? 2 : 1, c);
  return text + quote;
}

statement_text find_parameters(const char* name, std::string_view sql, std::span<const std::string_view> known,
                               marker marker) {
  statement_text found;
  found.name = name;
  const auto line = in_one_line(sql);
  const auto text = [&](std::string_view part) { found.sql.append(part); };
  read_parts(line, text, [&](std::string_view parameter) {
    const auto position = std::find(known.begin(), known.end(), parameter);
    if (position == known.end()) fail_unknown(name, parameter);
    const auto number = static_cast<std::size_t>(position - known.begin());
    auto& all = found.parameters;
    const bool again = std::find(all.begin(), all.end(), number) != all.end();
    if (marker == marker::question || !again) all.push_back(number);
    found.sql.append(marker == marker::question ? "?" : fmt::format(":{}", parameter));
  });
  return found;
}

void expect_all_used(std::span<const statement_text> statements, std::span<const std::string_view> known) {
  for (std::size_t number = 0; number != known.size(); ++number) {
    const bool used = std::any_of(statements.begin(), statements.end(), [&](const statement_text& each) {
      return std::find(each.parameters.begin(), each.parameters.end(), number) != each.parameters.end();
    });
    if (!used) throw std::logic_error(fmt::format("dlock: no SQL uses the parameter ':{}'", known[number]));
  }
}

std::string write_values(std::string_view sql, std::span<const named_part> values) {
  std::string text;
  put_values(
      sql, values, [&](std::string_view part) { text.append(part); },
      [&](const named_part& value) { text.append(value.text); });
  return text;
}

verification with_values(std::string_view sql, std::span<const named_value> values) {
  verification statement;
  const auto text = [&](std::string_view part) {
    statement.sql.append(part);
    statement.text.append(part);
  };
  put_values(sql, values, text, [&](const named_value& value) {
    statement.sql += '?';
    statement.text += value.literal;
    statement.parameters.push_back(value.value);
  });
  return statement;
}

}  // namespace dlock::stores::sql
