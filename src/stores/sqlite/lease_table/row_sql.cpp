// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/row_sql.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

#include "stores/sqlite/lease_table/connection.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

using sql::by_column;

constexpr std::string_view lock_columns_file =
#include "lock-columns-sqlite.sql.inc"
    ;
constexpr std::string_view expiring_lock_columns_file =
#include "expiring-lock-columns-sqlite.sql.inc"
    ;

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
    {"next_fence_of_row", "{raised_fence}"},
    {"raised_fence", "COALESCE({fence}, 0) + 1"},
    {"returning", "RETURNING {fence}"},
    {"expiry", ":expiry"},
    // A separate statement reads the state of the holder's session.
    {"seen", "{owner}, {fence}, {free_from}"},
    {"holder",
     "{owner}, {fence}, {free_from} IS NULL, s.{session.id} IS NULL{other_boot}, {remaining}, "
     "s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.revoked}"},
    {"holder_in", "{table} LEFT JOIN {session} s ON lower(hex(s.{session.id})) = {owner_of_session}"},
    {"owner_of_session", "substr({owner}, 1, 32)"},
    {"session_name", "lower(hex({session.id}))"},
    {"of_our_tables", "{owner} LIKE '________________________________/{tables}____________%'"},
    {"session_gone",
     "{owner_of_session} NOT IN ( SELECT {session_name} FROM {session} WHERE {session.expires_at_us} > {boot_time})"},
};

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

/// The condition is halved again and again, because SQLite limits its depth.
std::string either_of(std::span<const std::string> conditions) {
  if (conditions.size() == 1) return conditions.front();
  const auto half = conditions.size() / 2;
  return fmt::format("({} OR {})", either_of(conditions.first(half)), either_of(conditions.subspan(half)));
}

}  // namespace

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

sqlite_row_sql::sqlite_row_sql(sql::table_names names, const lease_file& file)
    : row_sql(std::move(names), {.words = {by_session_words, by_column_words, all_words},
                                 .files = {lock_columns_file, expiring_lock_columns_file},
                                 .quote = '"',
                                 .marks = sql::marker::name,
                                 .literal = row_literal}),
      file_(file) {}

std::vector<sql::sql_parameter> sqlite_row_sql::clocks(const row_table& table) const {
  return {{"row_now", file_.row_now(table, file_.now()).count()}};
}

std::string sqlite_row_sql::add_columns(const row_table& table) const {
  std::string text;
  for (const auto& column : added_columns(table))
    text += fmt::format("ALTER TABLE {} ADD COLUMN {};\n", table.table, column);
  return text;
}

/// SQLite has signed integers only.
verification::parameter sqlite_row_sql::adapted(verification::parameter value) const {
  const auto* const number = std::get_if<std::uint64_t>(&value);
  return number == nullptr ? std::move(value) : static_cast<std::int64_t>(*number);
}

std::string sqlite_row_sql::either(const std::vector<std::string>& conditions) const { return either_of(conditions); }

void sqlite_row_sql::write_times(sql::row_text& to, const row_table& table, microseconds own_ttl) const {
  const auto boot_time = file_.now();
  const auto now = file_.row_now(table, boot_time), end = now + own_ttl;
  const bool column = by_column(table);
  to.set("now", column ? row_literal(row_time(now, false)) : fmt::to_string(now.count()));
  const auto expiry = column ? row_literal(row_time(end, true)) : fmt::to_string(end.count());
  to.set("expiry", own_ttl.count() == 0 ? "NULL" : expiry);
  to.set("horizon", fmt::to_string((now + row_horizon).count())).set("boot_time", fmt::to_string(boot_time));
}

void sqlite_row_sql::set_application_words(sql::row_text& to, const row_table& /*table*/) const {
  to.set("now", "datetime('now')");
}

}  // namespace dlock::stores::sqlite::lease_table
