// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/table_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

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

std::string table_names::quoted(std::string_view name) const { return fmt::format("{}{}{}", quote_, name, quote_); }

std::string table_names::quoted_table(std::string_view name) const { return quoted(table(name)); }

void table_names::add_table(const std::string& table, std::initializer_list<std::string_view> columns) {
  texts_[table] = quoted_table(table);
  for (const auto column : columns) texts_[fmt::format("{}.{}", table, column)] = quoted(column);
}

void table_names::add_text(const std::string& placeholder, std::string text) { texts_[placeholder] = std::move(text); }

const std::string* table_names::find(std::string_view placeholder) const {
  const auto found = texts_.find(placeholder);
  return found == texts_.end() ? nullptr : &found->second;
}

std::string table_names::expand(std::string_view sql) const { return sql::expand(*this, sql, {}); }

std::string table_names::adapt(std::string_view statement) const {
  std::string text(statement);
  replace_all(text, fmt::format("{}{}", quote_, default_prefix), fmt::format("{}{}", quote_, prefix_));
  replace_all(text, fmt::format("CREATE TABLE {}", quote_), fmt::format("CREATE TABLE IF NOT EXISTS {}", quote_));
  return text;
}

table_names make_table_names(std::string prefix, char quote) {
  table_names names(std::move(prefix), quote);
  names.add_table("lock", {"lock_key", "session_id", "nonce", "fence", "acquired_at_us", "expires_at_us", "verified_by",
                           "verifies"});
  names.add_table(
      "session", {"id", "expires_at_us", "ttl_us", "beat", "revoked", "host", "pid", "label", "started_at_us", "boot"});
  names.add_table("floor", {"id", "fence"});
  names.add_text("version", names.quoted_table("schema_version"));
  return names;
}

}  // namespace dlock::stores::sql
