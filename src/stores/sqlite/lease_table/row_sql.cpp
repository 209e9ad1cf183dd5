// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/row_sql.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <type_traits>
#include <utility>
#include <vector>

#include "stores/sql/row_owner.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

bool renews_column(const row_table& table) noexcept { return table.renewal == row_renewal::column; }

/// An own expiry that has passed. Strictly, and in text only: that is how other programs compare it, and an integer is
/// less than any text.
std::string expired(const row_table& table, std::string_view now, std::string_view horizon) {
  const auto& e = table.expires_at;
  if (renews_column(table)) return fmt::format("(typeof({}) = 'text' AND {} < {})", e, e, now);
  return fmt::format("({} <= {} OR {} > {})", e, now, e, horizon);
}

std::string free_row(const row_table& table, std::string_view now, std::string_view horizon) {
  return fmt::format("({} IS NULL OR {} = '' OR {})", table.owner, table.owner, expired(table, now, horizon));
}

/// Rule 1: a kept grant writes NULL over an old expiry, which would free it.
std::string grant(const row_table& table, std::string_view owner, std::string_view expiry) {
  auto text = fmt::format("UPDATE {} SET {} = {}, {} = COALESCE({}, 0) + 1, {} = {}", table.table, table.owner, owner,
                          table.fence, table.fence, table.expires_at, expiry);
  if (has_own_fence(table)) fmt::format_to(std::back_inserter(text), ", {} = {} + 1", table.version, table.version);
  return text;
}

/// The moment from which it is free: of whole seconds, the one after.
std::string free_from(const row_table& table) {
  if (!renews_column(table)) return table.expires_at;
  return fmt::format("CASE typeof({0}) WHEN 'text' THEN (strftime('%s', {0}) + 1) * 1000000 END", table.expires_at);
}

std::string named_id(const row_table& table) {
  std::string condition;
  for (std::size_t i = 0; i != table.id.size(); ++i) {
    fmt::format_to(std::back_inserter(condition), "{}{} = :id{}", i == 0 ? "" : " AND ", table.id[i], i + 1);
  }
  return condition;
}

/// SQL ends at a zero byte, and bytes that are cast to text would be taken for the file's encoding.
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

}  // namespace

std::string row_free_it(const row_table& table, std::string_view now) {
  return fmt::format("UPDATE {} SET {} = {}, {} = {}", table.table, table.owner, table.owner_not_null ? "''" : "NULL",
                     table.expires_at, renews_column(table) ? now : "NULL");
}

namespace {

std::string text_of(row_statement_id which, const row_table& table, const sql::table_names& names) {
  const auto ours = fmt::format("{} IN (:owner, :verified_owner)", table.owner);
  const auto fenced = has_own_fence(table) ? fmt::format("{} AND {} = :fence", ours, table.fence) : ours;
  const auto fill = [&](const char* text, std::initializer_list<sql::named_part> parts) {
    return sql::expand(names, text, parts);
  };
  const auto taken = [&](const std::string& condition) {
    return fill("{grant} WHERE {row} AND {condition} RETURNING {fence}", {{"grant", grant(table, ":owner", ":expiry")},
                                                                          {"row", named_id(table)},
                                                                          {"condition", condition},
                                                                          {"fence", table.fence}});
  };
  // Rule 2: only of the holder and grant that were seen.
  const auto seen = [&](const std::string& condition) {
    return taken(fmt::format("{} IN (:seen_owner, :seen_verified_owner) AND {} = :fence AND {}", table.owner,
                             table.fence, condition));
  };
  switch (which) {
    case row_statement_id::take: return taken(free_row(table, ":now", ":horizon"));
    case row_statement_id::look:
      return fill("SELECT {owner}, {fence}, {free_from} FROM {table} WHERE {row}", {{"owner", table.owner},
                                                                                    {"fence", table.fence},
                                                                                    {"free_from", free_from(table)},
                                                                                    {"table", table.table},
                                                                                    {"row", named_id(table)}});
    case row_statement_id::take_over_kept:
      return seen(
          fill("{expires_at} IS NULL AND NOT EXISTS (SELECT 1 FROM {session} WHERE {session.id} = :seen_session)",
               {{"expires_at", table.expires_at}}));
    case row_statement_id::take_over_own: return seen(expired(table, ":now", ":horizon"));
    case row_statement_id::take_over_foreign:
      // Another program has no session: only its expiry ends its lock.
      return taken(
          fmt::format("{} <> '' AND {} = :fence AND {}", table.owner, table.fence, expired(table, ":now", ":horizon")));
    case row_statement_id::extend:
      // Rule 12: never shortens, never revives.
      return fill(R"(
UPDATE {table}
SET {expires_at} = MAX({expires_at}, :expiry)
WHERE {row}
  AND {ours}
  AND {expires_at} {in_time} :now
)",
                  {{"table", table.table},
                   {"expires_at", table.expires_at},
                   {"row", named_id(table)},
                   {"ours", fenced},
                   {"in_time", renews_column(table) ? ">=" : ">"}});
    case row_statement_id::release:
      return fmt::format("{} WHERE {} AND {}", row_free_it(table, ":now"), named_id(table), fenced);
    case row_statement_id::cancel:
      return fmt::format("{} WHERE {} AND {}", row_free_it(table, ":now"), named_id(table), ours);
    case row_statement_id::count_: break;
  }
  return {};
}

constexpr std::array<std::string_view, static_cast<std::size_t>(row_parameter::id)> parameter_names{
    "now",          "owner",  "verified_owner", "expiry", "fence", "seen_owner", "seen_verified_owner",
    "seen_session", "horizon"};

}  // namespace

sql::statement_text row_statement(row_statement_id which, const row_table& table, const sql::table_names& names) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i != table.id.size(); ++i) ids.push_back(fmt::format("id{}", i + 1));
  std::vector<std::string_view> known(parameter_names.begin(), parameter_names.end());
  known.insert(known.end(), ids.begin(), ids.end());
  return sql::find_parameters("row", text_of(which, table, names), known, sql::marker::name);
}

std::string row_time::text(microseconds at, bool up) {
  using namespace std::chrono;
  const seconds whole = up ? ceil<seconds>(at) : floor<seconds>(at);
  const days day = floor<days>(whole);
  const year_month_day date{sys_days{day}};
  const hh_mm_ss time{whole - day};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

microseconds row_time::wall_clock() noexcept {
  return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch());
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

std::string bare_name(std::string_view name) {
  std::string part;
  bool open = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '"') {
      if (open && i + 1 < name.size() && name[i + 1] == '"') {
        part.push_back(name[i++]);
      } else {
        open = !open;
      }
    } else if (name[i] == '.' && !open) {
      part.clear();
    } else {
      part.push_back(name[i]);
    }
  }
  return part;
}

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

namespace {

/// With all columns named as they may stand in a statement about several tables.
row_table qualified(const row_table& table) {
  row_table full = table;
  const std::string before = quoted_name(bare_name(table.table)) + '.';
  for (std::string* const column : {&full.owner, &full.expires_at, &full.fence}) *column = before + *column;
  for (std::string& column : full.id) column = before + column;
  return full;
}

/// (a, b) IN (VALUES ...) would read the whole table. Halved again and again, because SQLite bounds how deep a
/// condition may be.
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

std::string row_free(const row_table& plain, microseconds now) {
  const row_table table = qualified(plain);
  if (renews_column(table)) return free_row(table, quoted(row_time::text(now, false)), "");
  return free_row(table, fmt::to_string(now.count()), fmt::to_string((now + row_horizon).count()));
}

std::string row_abandoned(const row_table& plain, const sql::table_names& names, sql::tables_id tables,
                          microseconds now) {
  const row_table table = qualified(plain);
  if (renews_column(table)) return "FALSE";  // an expiry that has passed frees a row by itself
  return sql::in_one_line(sql::expand(names, R"(
({expires_at} IS NULL
 AND {owner} LIKE '{form}'
 AND substr({owner}, 1, 32) NOT IN (
   SELECT lower(hex({session.id}))
   FROM {session}
   WHERE {session.expires_at_us} > {time}))
)",
                                      {{"expires_at", table.expires_at},
                                       {"owner", table.owner},
                                       {"form", fmt::format("{:_<32}/{}{:_<12}%", "", tables.text(), "")},
                                       {"time", fmt::to_string(now.count())}}));
}

std::string row_claim(const row_table& table, std::string_view owner, const std::string& ids, microseconds now,
                      microseconds own_ttl) {
  const microseconds end = now + own_ttl;
  const std::string expiry = own_ttl.count() == 0   ? "NULL"
                             : renews_column(table) ? quoted(row_time::text(end, true))
                                                    : fmt::to_string(end.count());
  return fmt::format("{} WHERE {} AND {}", grant(table, quoted(std::string(owner)), expiry), ids, row_free(table, now));
}

std::string row_ids(const row_table& plain, std::span<const row_id* const> rows) {
  const row_table table = qualified(plain);
  if (table.id.size() > 1) return any_of(table, rows);
  std::string values;
  for (const row_id* row : rows) {
    values += (values.empty() ? "" : ", ") + row_literal(row_argument(row->values.at(0)));
  }
  return fmt::format("{} IN ({})", table.id.at(0), values);
}

std::string row_columns(const row_table& table) {
  const auto add = [&](const std::string& column, std::string_view type) {
    return fmt::format("ALTER TABLE {} ADD COLUMN {} {};\n", table.table, column, type);
  };
  // A column that is added can't have CURRENT_TIMESTAMP as its default.
  std::string sql = add(table.owner, table.owner_not_null ? "TEXT NOT NULL DEFAULT ''" : "TEXT NULL");
  sql +=
      add(table.expires_at, renews_column(table) ? "TIMESTAMP NOT NULL DEFAULT '1970-01-01 00:00:00'" : "INTEGER NULL");
  if (has_own_fence(table) || (table.version.empty() && !renews_column(table)))
    sql += add(table.fence, "INTEGER NOT NULL DEFAULT 0");
  return sql;
}

std::string row_holder(const row_id& row, const sql::table_names& names) {
  const row_table table = qualified(*row.table);
  return sql::in_one_line(sql::expand(names, R"(
SELECT
  {owner}, {fence}, {free_from},
  s.{session.expires_at_us}, s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.revoked},
  s.{session.ttl_us}, s.{session.boot}
FROM {table}
LEFT JOIN {session} s ON lower(hex(s.{session.id})) = substr({owner}, 1, 32)
WHERE {row}
)",
                                      {{"owner", table.owner},
                                       {"fence", table.fence},
                                       {"free_from", free_from(table)},
                                       {"table", table.table},
                                       {"row", row_ids(*row.table, std::array{&row})}}));
}

std::string row_revoke(const row_id& row, const sql::table_names& names) {
  const row_table table = qualified(*row.table);
  return sql::in_one_line(sql::expand(names, R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE lower(hex({session.id})) = (
  SELECT substr({owner}, 1, 32)
  FROM {table}
  WHERE {row}
    AND {expires_at} IS NULL)
)",
                                      {{"owner", table.owner},
                                       {"table", table.table},
                                       {"row", row_ids(*row.table, std::array{&row})},
                                       {"expires_at", table.expires_at}}));
}

}  // namespace dlock::stores::sqlite::lease_table
