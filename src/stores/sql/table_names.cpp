// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/table_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "stores/sql/named_sql.hpp"

namespace dlock::stores::sql {
namespace {

bool word_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

table_names::table_names(std::string prefix, char quote) : prefix_(std::move(prefix)), quote_(quote) {
  if (prefix_.empty() || prefix_.size() > 40 || !std::all_of(prefix_.begin(), prefix_.end(), word_character)) {
    throw std::invalid_argument(
        fmt::format("dlock: table prefix '{}' is not 1 to 40 letters, digits and underscores", prefix_));
  }
}

std::string table_names::quoted_table(std::string_view name) const {
  return fmt::format("{}{}{}{}", quote_, prefix_, name, quote_);
}

void table_names::add_table(const std::string& placeholder, std::string_view generated) {
  texts_[placeholder] = adapt(generated);
}

void table_names::add_column(const std::string& placeholder, const char* generated) {
  // ODB's columns are static objects of a template: nothing orders them before other static objects.
  if (generated == nullptr) {
    throw std::logic_error("dlock: a store cannot be opened before main() begins");
  }
  texts_[placeholder] = generated;
}

void table_names::add_text(const std::string& placeholder, std::string text) { texts_[placeholder] = std::move(text); }

const std::string* table_names::find(std::string_view placeholder) const {
  const auto found = texts_.find(placeholder);
  return found == texts_.end() ? nullptr : &found->second;
}

std::string table_names::expand(std::string_view sql) const { return sql::expand(*this, sql, {}); }

std::string table_names::adapt(std::string_view generated) const {
  std::string text(generated);
  replace_all(text, fmt::format("{}{}", quote_, default_prefix), fmt::format("{}{}", quote_, prefix_));
  replace_all(text, fmt::format("CREATE TABLE {}", quote_), fmt::format("CREATE TABLE IF NOT EXISTS {}", quote_));
  return text;
}

}  // namespace dlock::stores::sql
