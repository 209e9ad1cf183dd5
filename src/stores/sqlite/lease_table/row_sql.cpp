// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/row_sql.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <type_traits>
#include <vector>

namespace dlock::stores::sqlite::lease_table {

namespace {

using sql::by_column;
using sql::row_statement;

constexpr char quote = '"';

// A shared expiry has passed if it is less than now, and only if it is text: other programs compare it so, and an
// integer is less than any text.
constexpr sql::named_part by_column_words[] = {
    {"expired", "(typeof({expires_at}) = 'text' AND {expires_at} < {now})"},
    {"in_time", "{expires_at} >= {now}"},
    {"freed_expiry", "{now}"},
    // The moment from which the row is free: for whole seconds, the next one.
    {"free_from", "CASE typeof({expires_at}) WHEN 'text' THEN (strftime('%s', {expires_at}) + 1) * 1000000 END"},
    {"remaining", "COALESCE({free_from} - :row_now, s.{session.expires_at_us} - :now)"},
};

constexpr sql::named_part by_session_words[] = {
    {"expired", "({expires_at} <= {now} OR {expires_at} > {horizon})"},
    {"horizon", ":horizon"},
    {"in_time", "{expires_at} > {now}"},
    {"free_from", "{expires_at}"},
    // The horizon is row_horizon.
    {"remaining",
     "CASE WHEN {free_from} > :row_now + 2678400000000 THEN 0 "
     "ELSE COALESCE({free_from} - :row_now, s.{session.expires_at_us} - :now) END"},
};

constexpr sql::named_part all_words[] = {
    {"next_fence_of_row", "COALESCE({fence}, 0) + 1"},
    {"returning", "RETURNING {fence}"},
    {"expiry", ":expiry"},
    // A separate statement reads the state of the holder's session.
    {"seen", "{owner}, {fence}, {free_from}"},
    // The columns of row_holder().
    {"holder",
     "{owner}, {fence}, {free_from} IS NULL, s.{session.id} IS NULL{other_boot}, {remaining}, "
     "s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.revoked} "
     "FROM {table} LEFT JOIN {session} s ON lower(hex(s.{session.id})) = substr({owner}, 1, 32)"},
};

constexpr sql::row_words row_words{by_session_words, by_column_words, all_words};

/// SQL ends at a zero byte, and SQLite would read bytes that are cast to text in the file's encoding.
std::string quoted(const std::string& text) {
  const bool zeros = text.find('\0') != std::string::npos;
  std::string literal = zeros ? "('" : "'";
  for (const char c : text) {
    if (c == '\0') {
      literal += "' || char(0) || '";
    } else {
      literal.append(c == '\'' ? 2 : 1, c);
    }
  }
  return literal + (zeros ? "')" : "'");
}

std::string hex(std::string_view bytes) {
  std::string text = "x'";
  for (const char c : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(c));
  return text + '\'';
}

/// (a, b) IN (VALUES ...) would read the whole table. The condition is halved again and again, because SQLite limits
/// its depth.
std::string any_of(const row_table& table, std::span<const row_id* const> rows) {
  if (rows.size() > 1) {
    const auto half = rows.size() / 2;
    return fmt::format("({} OR {})", any_of(table, rows.first(half)), any_of(table, rows.subspan(half)));
  }
  std::string condition;
  for (std::size_t i = 0; i < table.id.size(); ++i) {
    condition +=
        fmt::format("{}{} = {}", i == 0 ? "(" : " AND ", table.id[i], row_literal(row_argument(rows[0]->values.at(i))));
  }
  return condition + ")";
}

}  // namespace

sql::row_text row_text(const row_table& table, const sql::table_names& names) { return {table, row_words, names}; }

sql::statement_text row_statement_text(row_statement which, const row_table& table, const sql::table_names& names) {
  return sql::make_row_statement(row_text(table, names).set_names(), table, which, sql::marker::name);
}

std::string row_time(microseconds at, bool up) {
  using namespace std::chrono;
  const seconds whole = up ? ceil<seconds>(at) : floor<seconds>(at);
  const days day = floor<days>(whole);
  const year_month_day date{sys_days{day}};
  const hh_mm_ss time{whole - day};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

std::string row_literal(const verification::parameter& value) {
  return std::visit(
      [](const auto& parameter) -> std::string {
        using type = std::decay_t<decltype(parameter)>;
        if constexpr (std::is_same_v<type, std::string>) {
          return quoted(parameter);
        } else if constexpr (std::is_same_v<type, verification::bytes>) {
          return hex(parameter.value);
        } else {
          return fmt::format("{}", static_cast<std::int64_t>(parameter));  // SQLite has signed integers only
        }
      },
      value);
}

verification::parameter row_argument(const row_value& value) {
  return std::visit(
      [](const auto& parameter) -> verification::parameter {
        if constexpr (std::is_same_v<std::decay_t<decltype(parameter)>, std::uint64_t>) {
          return static_cast<std::int64_t>(parameter);
        } else {
          return parameter;
        }
      },
      value);
}

std::string row_ids(const row_table& plain, std::span<const row_id* const> rows) {
  const auto table = sql::qualified(plain, quote);
  if (table.id.size() > 1) return any_of(table, rows);
  std::string values;
  for (const row_id* row : rows) {
    values += (values.empty() ? "" : ", ") + row_literal(row_argument(row->values.at(0)));
  }
  return fmt::format("{} IN ({})", table.id.at(0), values);
}

std::string row_holder(const row_id& row, const sql::table_names& names) {
  const auto table = sql::qualified(*row.table, quote);
  return row_text(table, names).set("row", row_ids(*row.table, std::array{&row})).fill("SELECT {holder} WHERE {row}");
}

std::string row_holders(const row_table& plain, const sql::table_names& names, std::size_t limit) {
  const auto table = sql::qualified(plain, quote);
  std::string ids;
  for (const auto& each : table.id) ids += (ids.empty() ? "" : ", ") + each;
  return row_text(table, names).set("ids", ids).set("limit", std::to_string(limit)).fill(R"(
SELECT {ids}, {holder}
WHERE COALESCE({owner}, '') <> ''
  AND ({free_from} IS NULL OR {remaining} > 0)
ORDER BY {ids}
LIMIT {limit}
)");
}

std::string row_revoke(const row_id& row, const sql::table_names& names) {
  const auto table = sql::qualified(*row.table, quote);
  return row_text(table, names).set("row", row_ids(*row.table, std::array{&row})).fill(R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE lower(hex({session.id})) = (
  SELECT substr({owner}, 1, 32)
  FROM {table}
  WHERE {row}
    AND {expires_at} IS NULL)
)");
}

}  // namespace dlock::stores::sqlite::lease_table
