// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/sql_connection.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "stores/sql/named_sql.hpp"

namespace dlock::stores::sql {

namespace {

template <class Number, class Parse>
Number number_in(const sql_row::cell& value, Parse parse) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return static_cast<Number>(*number);
  if (const auto* const number = std::get_if<std::uint64_t>(&value)) return static_cast<Number>(*number);
  const auto* const text = std::get_if<std::string>(&value);
  return text == nullptr ? Number{0} : Number{parse(text->c_str(), nullptr, 10)};
}

}  // namespace

std::int64_t sql_row::integer(std::size_t column) const {
  return number_in<std::int64_t>(cells_.at(column), std::strtoll);
}

std::uint64_t sql_row::natural(std::size_t column) const {
  return number_in<std::uint64_t>(cells_.at(column), std::strtoull);
}

microseconds sql_row::time(std::size_t column) const {
  return microseconds{std::max<std::int64_t>(0, integer(column))};
}

std::string_view sql_row::text(std::size_t column) const {
  const auto* const text = std::get_if<std::string>(&cells_.at(column));
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

id128 sql_row::id(std::size_t column) const {
  id128 id;
  const auto bytes = text(column);
  if (bytes.size() == id.bytes.size()) std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

row_value sql_row::key(std::size_t column) const {
  const auto& value = cells_.at(column);
  if (std::holds_alternative<std::int64_t>(value)) return std::get<std::int64_t>(value);
  if (!std::holds_alternative<std::uint64_t>(value)) return std::string(text(column));
  const auto number = std::get<std::uint64_t>(value);
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return number;
  return static_cast<std::int64_t>(number);
}

std::string write_out(std::string_view sql, sql_values values, std::string (*literal)(const sql_value& value)) {
  std::vector<std::string> literals;
  literals.reserve(values.size());
  std::vector<named_part> parts;
  parts.reserve(values.size());
  for (const auto& each : values) {
    literals.push_back(literal(each.value));
    parts.push_back({each.name, literals.back()});
  }
  return write_values(sql, parts);
}

std::string with_markers(std::string_view sql, sql_values values, std::vector<std::size_t>& order) {
  std::vector<std::string_view> names;
  for (const auto& each : values) names.push_back(each.name);
  auto made = find_parameters("statement", sql, names, marker::question);
  expect_all_used({&made, 1}, names);
  order = std::move(made.parameters);
  return std::move(made.sql);
}

}  // namespace dlock::stores::sql
