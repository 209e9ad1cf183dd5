// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sqlite/lease_table/row_sql.hpp"

#include <fmt/format.h>

#include <chrono>
#include <type_traits>
#include <utility>

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
  std::string sql = fmt::format("UPDATE {} SET {} = {}, {} = COALESCE({}, 0) + 1, {} = {}", table.table, table.owner,
                                owner, table.fence, table.fence, table.expires_at, expiry);
  if (has_own_fence(table)) fmt::format_to(std::back_inserter(sql), ", {} = {} + 1", table.version, table.version);
  return sql;
}

/// The moment from which it is free: of whole seconds, the one after.
std::string free_from(const row_table& table) {
  if (!renews_column(table)) return table.expires_at;
  return fmt::format("CASE typeof({0}) WHEN 'text' THEN (strftime('%s', {0}) + 1) * 1000000 END", table.expires_at);
}

std::string bound_id(const row_table& table) {
  std::string sql;
  int at = row_parameter::id;
  for (const auto& column : table.id) {
    fmt::format_to(std::back_inserter(sql), "{}{} = ?{}", sql.empty() ? "" : " AND ", column, at++);
  }
  return sql;
}

/// SQL ends at a zero byte, and bytes that are cast to text would be taken for the file's encoding.
std::string quoted(const std::string& text) {
  const bool zeros = text.find('\0') != std::string::npos;
  std::string made = zeros ? "('" : "'";
  for (const char c : text) {
    if (c == '\0') {
      made += "' || char(0) || '";
    } else {
      made.append(c == '\'' ? 2 : 1, c);
    }
  }
  return made + (zeros ? "')" : "'");
}

std::string hex(std::string_view bytes) {
  std::string made = "x'";
  for (const char c : bytes) fmt::format_to(std::back_inserter(made), "{:02x}", static_cast<unsigned char>(c));
  return made + '\'';
}

}  // namespace

std::string row_free_it(const row_table& table, std::string_view now) {
  return fmt::format("UPDATE {} SET {} = {}, {} = {}", table.table, table.owner, table.owner_not_null ? "''" : "NULL",
                     table.expires_at, renews_column(table) ? now : "NULL");
}

std::string row_sql(row_hot what, const row_table& table, const sql::table_names& names) {
  const auto where = [&](std::string_view condition) {
    return fmt::format(" WHERE {} AND {}", bound_id(table), condition);
  };
  const std::string given = grant(table, "?2", "?4");
  const std::string returning = " RETURNING " + table.fence;
  const std::string ours = fmt::format("{} IN (?2, ?3)", table.owner);
  const std::string fenced = has_own_fence(table) ? fmt::format("{} AND {} = ?5", ours, table.fence) : ours;
  // Rule 2: only of the holder and grant that were seen.
  const std::string seen = fmt::format("{} IN (?6, ?7) AND {} = ?5 AND ", table.owner, table.fence);
  switch (what) {
    case row_hot::take: return given + where(free_row(table, "?1", "?9")) + returning;
    case row_hot::look: {
      return fmt::format("SELECT {}, {}, {} FROM {} WHERE {}", table.owner, table.fence, free_from(table), table.table,
                         bound_id(table));
    }
    case row_hot::take_over_kept:
      return given +
             where(seen + table.expires_at + " IS NULL" +
                   names.expand(" AND NOT EXISTS (SELECT 1 FROM {session} WHERE {session.id} = ?8)")) +
             returning;
    case row_hot::take_over_own: return given + where(seen + expired(table, "?1", "?9")) + returning;
    case row_hot::take_over_stranger: {
      // Another program has no session: only its expiry ends its lock.
      const auto held = fmt::format("{} <> '' AND {} = ?5 AND ", table.owner, table.fence);
      return given + where(held + expired(table, "?1", "?9")) + returning;
    }
    case row_hot::extend: {
      // Rule 12: never shortens, never revives.
      const char* const in_time = renews_column(table) ? ">=" : ">";
      return fmt::format("UPDATE {} SET {} = MAX({}, ?4)", table.table, table.expires_at, table.expires_at) +
             where(fmt::format("{} AND {} {} ?1", fenced, table.expires_at, in_time));
    }
    case row_hot::release: return row_free_it(table, "?1") + where(fenced);
    case row_hot::cancel: return row_free_it(table, "?1") + where(ours);
    case row_hot::count_: break;
  }
  return {};
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
      [](const auto& one) -> std::string {
        using type = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<type, std::string>) {
          return quoted(one);
        } else if constexpr (std::is_same_v<type, verification::bytes>) {
          return hex(one.value);
        } else {
          return fmt::format("{}", static_cast<std::int64_t>(one));  // SQLite has signed integers only
        }
      },
      value);
}

verification::parameter row_argument(const row_value& value) {
  return std::visit(
      [](const auto& one) -> verification::parameter {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::uint64_t>) {
          return static_cast<std::int64_t>(one);
        } else {
          return one;
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
  std::string made = "\"";
  for (const char c : name) made.append(c == '"' ? 2 : 1, c);
  return made + '"';
}

namespace {

/// With all columns named as they may stand in a statement about several tables.
row_table qualified(const row_table& table) {
  row_table made = table;
  const std::string before = quoted_name(bare_name(table.table)) + '.';
  for (std::string* const column : {&made.owner, &made.expires_at, &made.fence}) *column = before + *column;
  for (std::string& column : made.id) column = before + column;
  return made;
}

/// (a, b) IN (VALUES ...) would read the whole table. Halved again and again, because SQLite bounds how deep a
/// condition may be.
std::string any_of(const row_table& table, std::span<const row_id* const> rows) {
  if (rows.size() > 1) {
    const auto half = rows.size() / 2;
    return fmt::format("({} OR {})", any_of(table, rows.first(half)), any_of(table, rows.subspan(half)));
  }
  std::string one;
  for (std::size_t i = 0; i < table.id.size(); ++i) {
    one +=
        fmt::format("{}{} = {}", i == 0 ? "(" : " AND ", table.id[i], row_literal(row_argument(rows[0]->values.at(i))));
  }
  return one + ")";
}

}  // namespace

std::string row_free(const row_table& plain, microseconds now) {
  const row_table table = qualified(plain);
  if (renews_column(table)) return free_row(table, quoted(row_time::text(now, false)), "");
  return free_row(table, fmt::to_string(now.count()), fmt::to_string((now + row_horizon).count()));
}

std::string row_abandoned(const row_table& plain, const sql::table_names& names, microseconds now) {
  const row_table table = qualified(plain);
  if (renews_column(table)) return "FALSE";  // an expiry that has passed frees a row by itself
  return fmt::format("({} IS NULL AND {} LIKE '{:_<32}/{:_<16}%' AND substr({}, 1, 32) NOT IN ({}{}))",
                     table.expires_at, table.owner, "", "", table.owner,
                     names.expand("SELECT lower(hex({session.id})) FROM {session} WHERE {session.expires_at_us} > "),
                     now.count());
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
  const row_id* const one = &row;
  const auto session = names.expand(
      "s.{session.expires_at_us}, s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.doomed}, "
      "s.{session.ttl_us}, s.{session.boot}");
  const auto join = names.expand("LEFT JOIN {session} AS s ON lower(hex(s.{session.id})) = substr(");
  return fmt::format("SELECT {}, {}, {}, {} FROM {} {}{}, 1, 32) WHERE {}", table.owner, table.fence, free_from(table),
                     session, table.table, join, table.owner, row_ids(*row.table, {&one, 1}));
}

std::string row_revoke(const row_id& row, const sql::table_names& names) {
  const row_table table = qualified(*row.table);
  const row_id* const one = &row;
  const auto revoke =
      names.expand("UPDATE {session} SET {session.doomed} = 1 WHERE lower(hex({session.id})) = (SELECT ");
  return fmt::format("{}substr({}, 1, 32) FROM {} WHERE {} AND {} IS NULL)", revoke, table.owner, table.table,
                     row_ids(*row.table, {&one, 1}), table.expires_at);
}

}  // namespace dlock::stores::sqlite::lease_table
