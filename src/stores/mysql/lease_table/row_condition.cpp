// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/row_condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "stores/mysql/client/native.hpp"

namespace dlock::stores::mysql::lease_table {

std::string_view zone_prefix(const row_table& table, session_zone in) {
  return by_column(table) && in == session_zone::any_mariadb ? "SET STATEMENT time_zone='+00:00' FOR " : "";
}

std::string timestamp(std::string_view seconds, session_zone in) {
  if (in != session_zone::any_mysql) return fmt::format("FROM_UNIXTIME({})", seconds);
  return fmt::format("CONCAT(DATE_ADD('1970-01-01', INTERVAL {} SECOND), '+00:00')", seconds);
}

std::string expired(const row_table& table) {
  return by_column(table) ? fmt::format("UNIX_TIMESTAMP({})<{}", table.expires_at, column_clock)
                          : fmt::format("{}<={}", table.expires_at, server_clock);
}

std::string alive(const row_table& table) {
  return by_column(table) ? fmt::format("UNIX_TIMESTAMP({})>={}", table.expires_at, column_clock)
                          : fmt::format("{}>{}", table.expires_at, server_clock);
}

std::string nobody(const row_table& table) { return fmt::format("{0} IS NULL OR {0}=''", table.owner); }

std::string ours(const row_table& table, const sql::row_holder& who) {
  return fmt::format("{} IN ('{}','{}')", table.owner, who.text(), who.verified_text());
}

std::string freed(const row_table& table, session_zone in) {
  const auto expiry = by_column(table) ? timestamp(column_clock, in) : std::string("NULL");
  return fmt::format("{}={}, {}={}", table.owner, table.owner_not_null ? "''" : "NULL", table.expires_at, expiry);
}

std::string qualifier(const row_table& table) { return quote_mysql_name(bare_table(table.table)) + "."; }

row_table qualified(const row_table& table) {
  auto full = table;
  const auto before = qualifier(table);
  for (auto* const column : {&full.owner, &full.expires_at, &full.fence, &full.version}) {
    if (!column->empty()) *column = before + *column;
  }
  for (auto& column : full.id) column = before + column;
  return full;
}

namespace {

verification::parameter parameter_of(const row_value& from) {
  return std::visit([](const auto& value) { return verification::parameter(value); }, from);
}

const text_column& text_of(const row_table& table, std::size_t column) {
  static const text_column unknown;
  return column < table.id_text.size() ? table.id_text[column] : unknown;
}

/// Characters that every character set has alike.
bool ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// A value of the id for its column: bytes where that holds bytes; a text in the character set in which the application
/// has it, which the server translates into the column's.
bound value_of(const row_id& row, std::size_t column) {
  const auto* const text = std::get_if<std::string>(&row.values.at(column));
  if (text == nullptr) return {parameter_of(row.values[column])};
  if (text_of(*row.table, column).charset == "binary") return {verification::bytes{*text}};
  if (row.table->charset.empty() || row.table->charset == "utf8mb4" || ascii(*text)) return {*text};
  return {*text, "_" + row.table->charset + " " + mysql_literal(*text)};
}

}  // namespace

std::string literal_of(const row_id& row, std::size_t column) {
  const auto value = value_of(row, column);
  return value.literal.empty() ? mysql_value_literal(value.value) : value.literal;
}

namespace {

/// "a=1": a condition that names the value of one column. A character that the column's character set lacks would be an
/// error (1267), or become a question mark: there is no such row. The collation is the column's own, as ever.
std::string is_value(const row_id& row, std::size_t column, std::string_view alias) {
  const auto name = fmt::format("{}{}", alias, row.table->id.at(column));
  const auto literal = literal_of(row, column);
  const auto& is = text_of(*row.table, column);
  const auto* const text = std::get_if<std::string>(&row.values[column]);
  const bool same = is.charset.empty() || is.charset == "binary" || is.charset == "utf8mb4";
  if (same || text == nullptr || ascii(*text)) return fmt::format("{}={}", name, literal);
  const auto there = fmt::format("CONVERT({} USING {})", literal, is.charset);
  return fmt::format("{}={} COLLATE {} AND CONVERT({} USING utf8mb4)=CONVERT({} USING utf8mb4) COLLATE utf8mb4_bin",
                     name, there, is.collation, there, literal);
}

/// The id of a row that is there.
void bind_where(bound_sql& to, const row_id& row) {
  for (std::size_t i = 0; i != row.values.size(); ++i) {
    to << (i == 0 ? "" : " AND ") << row.table->id.at(i) << "=" << value_of(row, i);
  }
}

}  // namespace

std::string where(const row_id& row, std::string_view alias) {
  std::string condition;
  for (std::size_t i = 0; i != row.values.size(); ++i) condition += (i == 0 ? "" : " AND ") + is_value(row, i, alias);
  return condition;
}

void bind_ours(bound_sql& to, const request& grant, const sql::row_holder& who) {
  const auto& table = *grant.row->table;
  bind_where(to, *grant.row);
  to << " AND " << table.owner << " IN (" << bound{who.text()} << "," << bound{who.verified_text()} << ")";
  if (fence_is_ours(table)) to << " AND " << table.fence << "=" << bound{grant.fence};
}

}  // namespace dlock::stores::mysql::lease_table
