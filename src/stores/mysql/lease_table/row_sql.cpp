// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/row_sql.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/lease_sql.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

using sql::by_column;

constexpr std::string_view lock_columns_file =
#include "lock-columns-mysql.sql.inc"
    ;
constexpr std::string_view expiring_lock_columns_file =
#include "expiring-lock-columns-mysql.sql.inc"
    ;

// A shared expiry has passed by the rule of the other programs: expiry < now(), in whole seconds, whatever the column's
// precision. The end of a grant is rounded up, so that it does not look passed to others while we trust it.
constexpr sql::named_part by_column_words[] = {
    {"expired", "UNIX_TIMESTAMP({expires_at}) < UNIX_TIMESTAMP()"},
    {"in_time", "UNIX_TIMESTAMP({expires_at}) >= UNIX_TIMESTAMP()"},
    {"remaining", "CAST((UNIX_TIMESTAMP({expires_at}) + 1) * 1000000 AS SIGNED) - {now}"},
    {"expiry", "FROM_UNIXTIME({end_second})"},
    {"end_second", "({now} + {own_ttl_up}) DIV 1000000"},
    {"own_ttl_up", ":own_ttl + 999999"},
    {"freed_expiry", "FROM_UNIXTIME(UNIX_TIMESTAMP())"},
};

// The same for a session with any time zone.
constexpr sql::named_part any_zone_words[] = {
    {"expiry", "CONCAT(DATE_ADD('1970-01-01', INTERVAL {end_second} SECOND), '+00:00')"},
    {"freed_expiry", "CONCAT(DATE_ADD('1970-01-01', INTERVAL UNIX_TIMESTAMP() SECOND), '+00:00')"},
};

constexpr sql::named_part by_session_words[] = {
    {"expired", "{expires_at} <= {now}"},
    {"in_time", "{expires_at} > {now}"},
    {"remaining", "IFNULL({expires_at}, s.{session.expires_at_us}) - {now}"},
    {"expiry", "{own_ttl} + {now}"},
    {"own_ttl", ":own_ttl"},
};

constexpr sql::named_part all_words[] = {
    {"next_fence_of_row", "LAST_INSERT_ID({raised_fence})"},
    {"raised_fence", "{fence} + 1"},
    {"seen", "{holder}"},
    {"seen_in", "{holder_in}"},
    {"holder",
     "{owner}, {fence}, {expires_at} IS NULL, s.{session.id} IS NULL, {remaining}, "
     "s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.revoked}"},
    {"holder_in", "{table} t LEFT JOIN {session} s ON s.{session.id} = {owner_of_session}"},
    {"free_from", "{expires_at}"},
    {"owner_of_session", "UNHEX(LEFT({owner}, 32))"},
    {"session_name", "{session.id}"},
    {"of_our_tables", "SUBSTR({owner}, 33, 5) = '/{tables}'"},
    {"session_gone",
     "NOT EXISTS ( SELECT 1 FROM {session} s WHERE s.{session.id} = {owner_of_session} "
     "AND s.{session.expires_at_us} > {now})"},
};

constexpr sql::row_dialect dialect{.words = {by_session_words, by_column_words, all_words},
                                   .files = {lock_columns_file, expiring_lock_columns_file},
                                   .quote = '`',
                                   .marks = sql::marker::question,
                                   .literal = mysql_value_literal,
                                   .alias = "t"};

const text_column& text_of(const row_table& table, std::size_t column) {
  static const text_column unknown;
  return column < table.id_text.size() ? table.id_text[column] : unknown;
}

/// Whether the text has only characters that are the same in every character set.
bool ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// An empty name is that of a column without text, or unknown.
bool is_utf8(const std::string& charset) noexcept { return charset.empty() || charset == "utf8mb4"; }

/// The form in which the text of an id's column is sent.
enum class id_form {
  same,        ///< a text in utf8mb4, which the server converts
  bytes,       ///< as bytes, for a column of bytes
  translated,  ///< a text in another character set, or for a column with another one
};
id_form form_of(const row_id& row, std::size_t column) {
  const auto* const text = std::get_if<std::string>(&row.values.at(column));
  if (text == nullptr) return id_form::same;
  const auto& charset = text_of(*row.table, column).charset;
  if (charset == "binary") return id_form::bytes;
  const bool same = (is_utf8(row.table->charset) && is_utf8(charset)) || ascii(*text);
  return same ? id_form::same : id_form::translated;
}

}  // namespace

bool can_be_bound(const row_id& row) noexcept {
  for (std::size_t i = 0; i != row.values.size(); ++i) {
    if (form_of(row, i) == id_form::translated) return false;
  }
  return true;
}

namespace {

mysql_field field_of_id(const row_id& row, std::size_t column) {
  const auto& value = row.values.at(column);
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return mysql_field::number_at(*number);
  if (const auto* const number = std::get_if<std::uint64_t>(&value)) return mysql_field::number_at(*number);
  const auto& text = std::get<std::string>(value);
  return form_of(row, column) == id_form::bytes ? mysql_field::bytes_at(text) : mysql_field::text_at(text);
}

mysql_field field_of(std::size_t number, const sql::statement_values& from) {
  switch (static_cast<sql::parameter>(number)) {
    case sql::parameter::fence: return mysql_field::number_at(from.fence);
    case sql::parameter::own_ttl: return from.no_own_ttl ? mysql_field::null() : mysql_field::number_at(from.own_ttl);
    case sql::parameter::owner: return mysql_field::text_at(from.owner);
    case sql::parameter::verified_owner: return mysql_field::text_at(from.verified_owner);
    case sql::parameter::seen_owner: return mysql_field::text_at(from.seen_owner);
    case sql::parameter::seen_verified_owner: return mysql_field::text_at(from.seen_verified_owner);
    case sql::parameter::seen_session: return mysql_field::bytes_at(bytes_of(from.holder));
    case sql::parameter::key: return mysql_field::bytes_at(from.key);
    case sql::parameter::wake_id: return mysql_field::bytes_at(bytes_of(from.wake_id));
    default: return field_of_id(*from.row, number - static_cast<std::size_t>(sql::parameter::id));
  }
}

}  // namespace

void set_fields(std::vector<mysql_field>& to, const sql::statement_text& text, const sql::statement_values& values) {
  to.clear();
  for (const auto number : text.parameters) to.push_back(field_of(number, values));
}

namespace {

/// The names with their database, because the application's connections may use another one.
sql::table_names in_database(sql::table_names names, const std::string& database) {
  for (const char* const table : {"lock", "session", "floor"})
    names.add_text(table, quote_mysql_name(database) + "." + names.quoted_table(table));
  return names;
}

}  // namespace

mysql_row_sql::mysql_row_sql(const sql::table_names& names, const std::string& database,
                             std::function<session_zone()> zone)
    : row_sql(in_database(names, database), dialect), zone_(std::move(zone)) {}

std::string mysql_row_sql::read_tables_id() const {
  return names().expand(
      fmt::format("SELECT {{floor.fence}} FROM {{floor}} WHERE {{floor.id}} = {}", sql::tables_id::floor_row));
}

std::string mysql_row_sql::add_columns(const row_table& table) const {
  return fmt::format("ALTER TABLE {} ADD COLUMN {}", table.table, fmt::join(added_columns(table), ", ADD COLUMN "));
}

/// Bytes for a column of bytes; a text in the application's character set, which the server converts to the column's.
sql::named_value mysql_row_sql::value_of(const row_id& row, std::size_t column) const {
  auto made = row_sql::value_of(row, column);
  const auto form = form_of(row, column);
  if (form == id_form::bytes) {
    made.value = verification::bytes{std::get<std::string>(row.values[column])};
  } else if (form == id_form::translated && !is_utf8(row.table->charset)) {
    made.literal = "_" + row.table->charset + " " + mysql_literal(std::get<std::string>(row.values[column]));
  }
  return made;
}

/// A character that the column's character set lacks would be an error (1267) or become a question mark, and no row has
/// it. The comparison has the column's own collation.
std::string mysql_row_sql::is_value(const row_id& row, std::size_t column, const std::string& name) const {
  const auto& is = text_of(*row.table, column);
  if (form_of(row, column) != id_form::translated || is_utf8(is.charset)) return row_sql::is_value(row, column, name);
  const auto literal = literal_of_id(row, column);
  const auto there = fmt::format("CONVERT({} USING {})", literal, is.charset);
  return fmt::format("{} = {} COLLATE {} AND CONVERT({} USING utf8mb4) = CONVERT({} USING utf8mb4) COLLATE utf8mb4_bin",
                     name, there, is.collation, there, literal);
}

/// `skip`: only those that this statement itself could lock, so that it waits for none. The limit keeps the sub-query a
/// table of its own, which the server reads first. It selects a column beside the key, because otherwise the server may
/// read the whole index instead of these rows, and lock other rows on its way.
std::string mysql_row_sql::rows_to_change(std::span<const request> requests, const row_table& as, bool skip) const {
  const auto table = fmt::format("{} {}", as.table, by_id_alone());
  if (!skip) return table;
  std::string columns, same;
  for (std::size_t i = 0; i != as.id.size(); ++i) {
    columns += fmt::format("{} AS dlock_unlocked_{}, ", as.id[i], i);
    same += fmt::format("{}{} = dlock_unlocked_{}", i == 0 ? "" : " AND ", as.id[i], i);
  }
  return fmt::format(
      "(SELECT {}{} AS dlock_unlocked_owner FROM {} WHERE {} LIMIT 1000000 FOR UPDATE SKIP LOCKED) dlock_unlocked "
      "STRAIGHT_JOIN {} ON {}",
      columns, as.owner, table, any_of(requests, as.id), table, same);
}

void mysql_row_sql::write_times(sql::row_text& to, const row_table& table, microseconds own_ttl) const {
  if (by_column(table)) {
    to.set("own_ttl_up", std::to_string(own_ttl.count() + 999'999));
  } else {
    to.set(own_ttl.count() > 0 ? "own_ttl" : "expiry", own_ttl.count() > 0 ? std::to_string(own_ttl.count()) : "NULL");
  }
}

void mysql_row_sql::set_application_words(sql::row_text& to, const row_table& table) const {
  if (by_column(table) && zone_() == session_zone::any_mysql) to.prefer(any_zone_words);
}

std::string mysql_row_sql::prefix(const row_table& table) const {
  return by_column(table) && zone_() == session_zone::any_mariadb ? "SET STATEMENT time_zone='+00:00' FOR " : "";
}

}  // namespace dlock::stores::mysql::lease_table
