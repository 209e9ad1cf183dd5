// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/lease_table/row_sql.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "stores/mysql/client/native.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

/// The unit of a shared expiry column: whole seconds, whatever its precision, because others compare it with now().
constexpr std::string_view column_clock = "UNIX_TIMESTAMP()";

bool by_column(const row_table& table) noexcept { return table.renewal == row_renewal::column; }

/// Where grants are counted by the version column, ordinary updates raise it while the row is held: only the owner's
/// text, which names session and attempt, tells a grant then.
bool fence_is_ours(const row_table& table) noexcept { return !table.version.empty() && table.version != table.fence; }

/// What a statement begins with.
std::string_view zone_prefix(const row_table& table, session_zone in) {
  return by_column(table) && in == session_zone::any_mariadb ? "SET STATEMENT time_zone='+00:00' FOR " : "";
}

/// Seconds since 1970 as a value for a TIMESTAMP column.
std::string timestamp(std::string_view seconds, session_zone in) {
  if (in != session_zone::any_mysql) return fmt::format("FROM_UNIXTIME({})", seconds);
  return fmt::format("CONCAT(DATE_ADD('1970-01-01', INTERVAL {} SECOND), '+00:00')", seconds);
}

/// Passed, by the rule of the programs that share the column: expiry < now(), in whole seconds.
std::string expired(const row_table& table) {
  return by_column(table) ? fmt::format("UNIX_TIMESTAMP({})<{}", table.expires_at, column_clock)
                          : fmt::format("{}<={{now}}", table.expires_at);
}

std::string alive(const row_table& table) {
  return by_column(table) ? fmt::format("UNIX_TIMESTAMP({})>={}", table.expires_at, column_clock)
                          : fmt::format("{}>{{now}}", table.expires_at);
}

std::string nobody(const row_table& table) { return fmt::format("{0} IS NULL OR {0}=''", table.owner); }

std::string ours(const row_table& table, const sql::row_owner& who) {
  return fmt::format("{} IN ('{}','{}')", table.owner, who.text(), who.verified_text());
}

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

std::string literal_of(const row_id& row, std::size_t column) {
  const auto value = value_of(row, column);
  return value.literal.empty() ? mysql_value_literal(value.value) : value.literal;
}

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

/// "a=1 AND b=2"; `alias` before each column.
std::string where(const row_id& row, std::string_view alias = "") {
  std::string made;
  for (std::size_t i = 0; i != row.values.size(); ++i) made += (i == 0 ? "" : " AND ") + is_value(row, i, alias);
  return made;
}

/// The same of a row that is there.
void bind_where(bound_sql& to, const row_id& row) {
  for (std::size_t i = 0; i != row.values.size(); ++i) {
    to << (i == 0 ? "" : " AND ") << row.table->id.at(i) << "=" << value_of(row, i);
  }
}

/// Of a grant: 0 if its session keeps it.
microseconds own_ttl(const request& grant) noexcept {
  return grant.kind == lease_kind::session ? microseconds{0} : grant.ttl;
}

sql::row_owner owner_of(const request& from) { return {from.session, from.nonce}; }

void bind_ours(bound_sql& to, const request& grant) {
  const auto& table = *grant.row->table;
  bind_where(to, *grant.row);
  const auto who = owner_of(grant);
  to << " AND " << table.owner << " IN (" << bound{who.text()} << "," << bound{who.verified_text()} << ")";
  if (fence_is_ours(table)) to << " AND " << table.fence << "=" << bound{grant.fence};
}

}  // namespace

mysql_row_sql::mysql_row_sql(const sql::table_names& names, const std::string& database) : names_(names) {
  for (const char* const table : {"lock", "session", "floor"}) {
    names_.add_text(table, quote_mysql_name(database) + "." + names.quoted_table(table));
  }
}

std::string mysql_row_sql::expiry(const row_table& table, microseconds own_ttl, session_zone in) const {
  if (!by_column(table)) return own_ttl.count() > 0 ? fmt::format("{}+{{now}}", own_ttl.count()) : "NULL";
  // Rounded up: it must not look passed to others while we trust it.
  return timestamp(fmt::format("({{now}}+{}) DIV 1000000", own_ttl.count() + 999'999), in);
}

std::string mysql_row_sql::grant(const row_table& table, const std::string& owner, const std::string& expiry,
                                 bool tell_fence) const {
  auto made = fmt::format("{}='{}', ", table.owner, owner);
  made +=
      tell_fence ? fmt::format("{0}=LAST_INSERT_ID({0}+1), ", table.fence) : fmt::format("{0}={0}+1, ", table.fence);
  if (fence_is_ours(table)) made += fmt::format("{0}={0}+1, ", table.version);
  return made + fmt::format("{}={}", table.expires_at, expiry);
}

// Rule 1, without a read before it.
std::string mysql_row_sql::take(const request& what) const {
  const auto& table = *what.row->table;
  return expand(fmt::format("UPDATE {} SET {} WHERE {} AND ({} OR {})", table.table,
                            grant(table, owner_of(what).text(), expiry(table, own_ttl(what)), true), where(*what.row),
                            nobody(table), expired(table)));
}

std::string mysql_row_sql::look(const request& what) const {
  const auto& table = *what.row->table;
  const auto left = by_column(table)
                        ? fmt::format("CAST((UNIX_TIMESTAMP(t.{})+1)*1000000 AS SIGNED)-{{now}}", table.expires_at)
                        : fmt::format("IFNULL(t.{}, s.{{session.expires_at_us}})-{{now}}", table.expires_at);
  return expand(
      fmt::format("SELECT t.{0}, t.{1}, t.{2} IS NULL, s.{{session.id}} IS NULL, {3}, s.{{session.host}}, "
                  "s.{{session.pid}}, s.{{session.label}}, s.{{session.doomed}} FROM {4} t LEFT JOIN {{session}} s ON "
                  "s.{{session.id}}=UNHEX(LEFT(t.{0},32)) WHERE {5}",
                  table.owner, table.fence, table.expires_at, left, table.table, where(*what.row, "t.")));
}

// A plain sub-query: it names the holder of this moment, and an operator cannot mean more. Another program's owner is no
// session's id.
std::string mysql_row_sql::revoke(const row_id& row) const {
  const auto& table = *row.table;
  return expand(fmt::format(
      "UPDATE {{session}} SET {{session.doomed}}=1 WHERE {{session.id}}=(SELECT UNHEX(LEFT({0},32)) FROM {1} "
      "WHERE {2} AND {3} IS NULL AND CHAR_LENGTH({0})>=49)",
      table.owner, table.table, where(row), table.expires_at));
}

// Rule 2: about the holder and the grant that were seen. Another program has no session: only its expiry ends its lock.
std::string mysql_row_sql::take_over(const request& what) const {
  const auto& table = *what.row->table;
  const auto dead = by_column(table) || what.expected->holder == sql::foreign_owner
                        ? expired(table)
                        : fmt::format(
                              "({} OR ({} IS NULL AND NOT EXISTS (SELECT 1 FROM {{session}} s WHERE "
                              "s.{{session.id}}=X'{}')))",
                              expired(table), table.expires_at, what.expected->holder.hex());
  const auto holder = what.expected->holder == sql::foreign_owner
                          ? fmt::format("{}<>''", table.owner)
                          : ours(table, sql::row_owner{what.expected->holder, what.expected->nonce});
  return expand(fmt::format("UPDATE {} SET {} WHERE {} AND {} AND {}={} AND {}", table.table,
                            grant(table, owner_of(what).text(), expiry(table, own_ttl(what)), true), where(*what.row),
                            holder, table.fence, what.expected->fence, dead));
}

std::string mysql_row_sql::fence_of(const request& what) const {
  const auto& table = *what.row->table;
  return fmt::format("SELECT {} FROM {} WHERE {} AND {}", table.fence, table.table, where(*what.row),
                     ours(table, owner_of(what)));
}

std::string mysql_row_sql::extend(const request& what) const {
  const auto& table = *what.row->table;
  const auto fence = fence_is_ours(table) ? fmt::format(" AND {}={}", table.fence, what.fence) : std::string();
  return expand(fmt::format("UPDATE {0} SET {1}=GREATEST({1}, {2}) WHERE {3} AND {4}{5} AND {6}", table.table,
                            table.expires_at, expiry(table, what.ttl), where(*what.row), ours(table, owner_of(what)),
                            fence, alive(table)));
}

namespace {

/// What a free row has.
std::string freed(const row_table& table, session_zone in) {
  const auto expiry = by_column(table) ? timestamp(column_clock, in) : std::string("NULL");
  return fmt::format("{}={}, {}={}", table.owner, table.owner_not_null ? "''" : "NULL", table.expires_at, expiry);
}

}  // namespace

// Rule 6: names session and nonce: the attempt, whatever fence it got.
std::string mysql_row_sql::cancel(const request& what) const {
  const auto& table = *what.row->table;
  return fmt::format("UPDATE {} SET {} WHERE {} AND {}", table.table, freed(table, session_zone::utc), where(*what.row),
                     ours(table, owner_of(what)));
}

verification mysql_row_sql::release(const request& grant, session_zone in) const {
  const auto& table = *grant.row->table;
  bound_sql to;
  to << zone_prefix(table, in) << "UPDATE " << table.table << " SET " << freed(table, in) << " WHERE ";
  bind_ours(to, grant);
  return std::move(to.made);
}

// An update that changes nothing would not be part of what a cluster certifies, so the owner's text goes to and fro.
verification mysql_row_sql::verify(const request& grant) const {
  const auto& table = *grant.row->table;
  const auto who = owner_of(grant);
  bound_sql to;
  to << "UPDATE " << table.table << " SET " << table.owner << "=IF(" << table.owner << "=" << bound{who.text()} << ","
     << bound{who.verified_text()} << "," << bound{who.text()} << ") WHERE ";
  bind_ours(to, grant);
  return std::move(to.made);
}

// ---- for statements of the application's ----------------------------------------------------------------------------

namespace {

/// The table with all its columns named as they may stand in a statement about several tables.
row_table qualified(const row_table& table) {
  auto made = table;
  const auto before = quote_mysql_name(bare_table(table.table)) + ".";
  for (auto* const column : {&made.owner, &made.expires_at, &made.fence, &made.version}) {
    if (!column->empty()) *column = before + *column;
  }
  for (auto& column : made.id) column = before + column;
  return made;
}

}  // namespace

std::string mysql_row_sql::free_rows(const row_table& table) const {
  const auto as = qualified(table);
  return expand(fmt::format("({} OR {})", nobody(as), expired(as)));
}

std::string mysql_row_sql::abandoned_rows(const row_table& table) const {
  // A shared expiry column says it all, and free_rows() has read it.
  if (by_column(table)) return "FALSE";
  const auto as = qualified(table);
  return expand(
      fmt::format("({0} IS NULL AND CHAR_LENGTH({1})>=49 AND NOT EXISTS (SELECT 1 FROM {{session}} s WHERE "
                  "s.{{session.id}}=UNHEX(LEFT({1},32)) AND s.{{session.expires_at_us}}>{{now}}))",
                  as.expires_at, as.owner));
}

std::string mysql_row_sql::claim(const sql::claim_request& what, session_zone in) const {
  const auto owner = sql::row_owner{what.session, what.nonce}.text();
  return expand(fmt::format("{}UPDATE {} SET {} WHERE {} AND {}", zone_prefix(what.table, in), what.table.table,
                            grant(what.table, owner, expiry(what.table, what.own_ttl, in), false),
                            rows_by_id(what.table, what.rows), free_rows(what.table)));
}

std::string mysql_row_sql::rows_by_id(const row_table& table, std::span<const row_id* const> rows) const {
  const auto as = qualified(table);
  std::string made;
  if (as.id.size() == 1) {
    for (const auto* row : rows) {
      made += (made.empty() ? as.id[0] + " IN (" : ",") + literal_of(*row, 0);
    }
    return made + ")";
  }
  // Not (a, b) IN ((1, 2), ...): MariaDB reads the whole index for that.
  const auto before = quote_mysql_name(bare_table(table.table)) + ".";
  for (const auto* row : rows) made += fmt::format("{}({})", made.empty() ? "(" : " OR ", where(*row, before));
  return made + ")";
}

std::string mysql_row_sql::add_columns(const row_table& table) const {
  auto made = fmt::format("ALTER TABLE {} ADD COLUMN {} VARCHAR(50) {}", table.table, table.owner,
                          table.owner_not_null ? "NOT NULL DEFAULT ''" : "NULL");
  // A default of its own: without one, older servers make the first TIMESTAMP follow every update.
  made += fmt::format(", ADD COLUMN {} {}", table.expires_at,
                      by_column(table) ? "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP" : "BIGINT NULL");
  if (fence_is_ours(table) || (table.version.empty() && !by_column(table))) {
    made += fmt::format(", ADD COLUMN {} BIGINT UNSIGNED NOT NULL DEFAULT 0", table.fence);
  }
  return made;
}

}  // namespace dlock::stores::mysql::lease_table
