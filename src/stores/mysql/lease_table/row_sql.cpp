// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/row_sql.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <variant>

#include "stores/mysql/client/native.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/lease_sql.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

using sql::by_column;
using sql::row_statement;

constexpr char quote = '`';
constexpr std::string_view lock_columns_file =
#include "lock-columns-mysql.sql.inc"
    ;
constexpr std::string_view expiring_lock_columns_file =
#include "expiring-lock-columns-mysql.sql.inc"
    ;
constexpr sql::lock_column_files added_types{lock_columns_file, expiring_lock_columns_file};

/// A shared expiry column counts whole seconds, whatever its precision, because other programs compare it with now().
constexpr std::string_view column_clock = "UNIX_TIMESTAMP()";

// A shared expiry has passed by the rule of the other programs: expiry < now(), in whole seconds.
constexpr sql::named_part by_column_words[] = {
    {"expired", "UNIX_TIMESTAMP({expires_at}) < UNIX_TIMESTAMP()"},
    {"in_time", "UNIX_TIMESTAMP({expires_at}) >= UNIX_TIMESTAMP()"},
    {"remaining", "CAST((UNIX_TIMESTAMP(t.{expires_at}) + 1) * 1000000 AS SIGNED) - {now}"},
};

constexpr sql::named_part by_session_words[] = {
    {"expired", "{expires_at} <= {now}"},
    {"in_time", "{expires_at} > {now}"},
    {"remaining", "IFNULL(t.{expires_at}, s.{session.expires_at_us}) - {now}"},
};

constexpr sql::named_part all_words[] = {
    {"next_fence_of_row", "LAST_INSERT_ID({fence} + 1)"},
    {"seen",
     "t.{owner}, t.{fence}, t.{expires_at} IS NULL, s.{session.id} IS NULL, {remaining}, "
     "s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.revoked}"},
    {"seen_in", "{table} t LEFT JOIN {session} s ON s.{session.id} = UNHEX(LEFT(t.{owner}, 32))"},
};

constexpr sql::row_words row_words{by_session_words, by_column_words, all_words};

constexpr std::string_view held_source = R"(
SELECT {ids}, {seen}
FROM {seen_in}
WHERE COALESCE(t.{owner}, '') <> ''
  AND (t.{expires_at} IS NULL OR {remaining} > 0)
ORDER BY {ids}
LIMIT {limit}
)";

// The sub-query takes no lock, because the operator means whoever holds the row at this moment. An owner that another
// program, or one with other lock tables, has written is none of our sessions.
constexpr std::string_view revoke_source = R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE {session.id} = (
  SELECT UNHEX(LEFT({owner}, 32))
  FROM {table}
  WHERE {row}
    AND {expires_at} IS NULL
    AND SUBSTR({owner}, 33, 5) = '/{tables}')
)";

constexpr std::string_view abandoned_source = R"(
({expires_at} IS NULL
 AND SUBSTR({owner}, 33, 5) = '/{tables}'
 AND NOT EXISTS (
   SELECT 1
   FROM {session} s
   WHERE s.{session.id} = UNHEX(LEFT({owner}, 32))
     AND s.{session.expires_at_us} > {now}))
)";

/// The prefix of a statement.
std::string zone_prefix(const row_table& table, session_zone in) {
  return by_column(table) && in == session_zone::any_mariadb ? "SET STATEMENT time_zone='+00:00' FOR " : "";
}

/// Seconds since 1970 as a value for a TIMESTAMP column.
std::string timestamp(std::string_view seconds, session_zone in) {
  if (in != session_zone::any_mysql) return fmt::format("FROM_UNIXTIME({})", seconds);
  return fmt::format("CONCAT(DATE_ADD('1970-01-01', INTERVAL {} SECOND), '+00:00')", seconds);
}

/// NULL if own_ttl is 0, because the session keeps the lease.
std::string expiry(const row_table& table, microseconds own_ttl, session_zone in = session_zone::utc) {
  if (!by_column(table)) return own_ttl.count() > 0 ? fmt::format("{} + {}", own_ttl.count(), server_clock) : "NULL";
  // Rounded up, so that it does not look passed to others while we trust it.
  return timestamp(fmt::format("({} + {}) DIV 1000000", server_clock, own_ttl.count() + 999'999), in);
}

/// The same with a parameter.
std::string named_expiry(const row_table& table) {
  if (!by_column(table)) return fmt::format(":own_ttl + {}", server_clock);
  return timestamp(fmt::format("({} + :own_ttl + 999999) DIV 1000000", server_clock), session_zone::utc);
}

/// Sets the values of a free row's lock columns.
sql::row_text& set_freed(sql::row_text& to, const row_table& table, session_zone in) {
  return by_column(table) ? to.set("freed_expiry", timestamp(column_clock, in)) : to;
}

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

/// A value of the id for its column: bytes for a column of bytes; a text in the application's character set, which the
/// server converts to the column's.
sql::named_value value_of(const row_id& row, std::size_t column) {
  sql::named_value made;
  made.value = std::visit([](const auto& value) { return verification::parameter(value); }, row.values.at(column));
  const auto form = form_of(row, column);
  if (form == id_form::bytes) {
    made.value = verification::bytes{std::get<std::string>(row.values[column])};
  } else if (form == id_form::translated && !is_utf8(row.table->charset)) {
    made.literal = "_" + row.table->charset + " " + mysql_literal(std::get<std::string>(row.values[column]));
  }
  if (made.literal.empty()) made.literal = mysql_value_literal(made.value);
  return made;
}

/// A condition on one column: "a = 1". A character that the column's character set lacks would be an error (1267) or
/// become a question mark, and no row has it. The comparison has the column's own collation.
std::string is_value(const row_id& row, std::size_t column, std::string_view before) {
  const auto name = fmt::format("{}{}", before, row.table->id.at(column));
  const auto literal = value_of(row, column).literal;
  const auto& is = text_of(*row.table, column);
  if (form_of(row, column) != id_form::translated || is_utf8(is.charset)) return fmt::format("{} = {}", name, literal);
  const auto there = fmt::format("CONVERT({} USING {})", literal, is.charset);
  return fmt::format("{} = {} COLLATE {} AND CONVERT({} USING utf8mb4) = CONVERT({} USING utf8mb4) COLLATE utf8mb4_bin",
                     name, there, is.collation, there, literal);
}

/// "a = 1 AND b = 2", with `before` as the prefix of each column.
std::string where(const row_id& row, std::string_view before = "") {
  std::string condition;
  for (std::size_t i = 0; i != row.values.size(); ++i) condition += (i == 0 ? "" : " AND ") + is_value(row, i, before);
  return condition;
}

/// Joins text(element) of all elements, with `between` in between.
template <class Range, class Text>
std::string joined(const Range& all, std::string_view between, Text text) {
  std::string made;
  for (std::size_t i = 0; i != std::size(all); ++i) made.append(i == 0 ? "" : between).append(text(i));
  return made;
}

/// "CASE WHEN id = 1 THEN … WHEN id = 2 THEN … END". If two requests name the same row, the first one counts.
template <class Value>
std::string by_row(std::span<const request> requests, std::string_view before, Value value) {
  return "CASE" +
         joined(requests, "",
                [&](std::size_t i) {
                  return fmt::format(" WHEN {} THEN {}", where(*requests[i].row, before), value(i));
                }) +
         " END";
}

bool by_number(const row_id& row) noexcept {
  return row.values.size() == 1 && !std::holds_alternative<std::string>(row.values[0]);
}

/// "a IN (1, 2)"
std::string in_list(std::span<const row_id* const> rows, std::string_view column) {
  return fmt::format("{} IN ({})", column,
                     joined(rows, ", ", [&](std::size_t i) { return value_of(*rows[i], 0).literal; }));
}

/// "((a = 1 AND b = 2) OR (...))". Not (a, b) IN ((1, 2), ...), for which MariaDB reads the whole index.
std::string one_by_one(std::span<const row_id* const> rows, std::string_view before) {
  return "(" + joined(rows, " OR ", [&](std::size_t i) { return "(" + where(*rows[i], before) + ")"; }) + ")";
}

/// Selects the rows by their primary keys alone. Each text is compared separately, because the column decides which
/// values are the same.
std::string any_of(std::span<const request> requests, std::string_view before) {
  std::vector<const row_id*> rows;
  for (const auto& each : requests) rows.push_back(each.row);
  const bool numbers = std::all_of(rows.begin(), rows.end(), [](const row_id* row) { return by_number(*row); });
  return numbers ? in_list(rows, fmt::format("{}{}", before, rows.front()->table->id.at(0))) : one_by_one(rows, before);
}

/// The rows to change. `skip`: only those that this statement itself could lock, so that it waits for none. The limit
/// keeps the sub-query a table of its own, which the server reads first. It selects a column beside the key, because
/// otherwise the server may read the whole index instead of these rows, and lock other rows on its way.
std::string rows_of(std::span<const request> requests, const row_table& as, std::string_view before, bool skip) {
  const auto table = as.table + " FORCE INDEX (PRIMARY)";
  if (!skip) return table;
  const auto columns =
      joined(as.id, "", [&](std::size_t i) { return fmt::format("{} AS dlock_unlocked_{}, ", as.id[i], i); });
  const auto same =
      joined(as.id, " AND ", [&](std::size_t i) { return fmt::format("{} = dlock_unlocked_{}", as.id[i], i); });
  return fmt::format(
      "(SELECT {}{} AS dlock_unlocked_owner FROM {} WHERE {} LIMIT 1000000 FOR UPDATE SKIP LOCKED) dlock_unlocked "
      "STRAIGHT_JOIN {} ON {}",
      columns, as.owner, table, any_of(requests, before), table, same);
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
    default: return field_of_id(*from.row, number - static_cast<std::size_t>(sql::parameter::id));
  }
}

}  // namespace

void set_fields(std::vector<mysql_field>& to, const sql::statement_text& text, const sql::statement_values& values) {
  to.clear();
  for (const auto number : text.parameters) to.push_back(field_of(number, values));
}

mysql_row_sql::mysql_row_sql(const sql::table_names& names, const std::string& database) : names_(names) {
  for (const char* const table : {"lock", "session", "floor"}) {
    names_.add_text(table, quote_mysql_name(database) + "." + names.quoted_table(table));
  }
}

sql::row_text mysql_row_sql::text(const row_table& table) const {
  sql::row_text made(table, row_words, names_);
  made.set("tables", tables().text());
  return made;
}

sql::row_text mysql_row_sql::named(const row_table& table, row_statement which) const {
  auto made = text(table);
  made.set_names(which == row_statement::poll ? "t." : "").set("expiry", named_expiry(table));
  return set_freed(made, table, session_zone::utc);
}

sql::statement_text mysql_row_sql::prepared(row_statement which, const row_table& table) const {
  return sql::make_row_statement(named(table, which), table, which, sql::marker::question);
}

sql::statement_text mysql_row_sql::with_id(row_statement which, const row_id& row) const {
  auto made = named(*row.table, which);
  made.set("row", where(row, which == row_statement::poll ? "t." : ""));
  return sql::make_row_statement(made, *row.table, which, sql::marker::question);
}

std::string mysql_row_sql::written_out(row_statement which, const request& request) const {
  const auto text = with_id(which, *request.row);
  const sql::request_values values(request, tables());
  std::vector<mysql_field> fields;
  set_fields(fields, text, values);
  return mysql_statement(text.sql, text.name, std::move(fields)).written_out();
}

std::string mysql_row_sql::read_tables_id() const {
  return names_.expand(
      fmt::format("SELECT {{floor.fence}} FROM {{floor}} WHERE {{floor.id}} = {}", sql::tables_id::floor_row));
}

std::string mysql_row_sql::change(const request& request) const {
  return written_out(sql::statement_for(request), request);
}

std::string mysql_row_sql::poll(const request& request, std::string_view before) const {
  return text(*request.row->table)
      .set("before", std::string(before))
      .set("row", where(*request.row, "t."))
      .fill("SELECT {before}{seen} FROM {seen_in} WHERE {row}");
}

std::string mysql_row_sql::poll(const request& request) const { return poll(request, ""); }

std::string mysql_row_sql::held(const row_table& table, std::size_t limit) const {
  return text(table)
      .set("ids", joined(table.id, ", ", [&](std::size_t i) { return "t." + table.id[i]; }))
      .set("limit", std::to_string(limit))
      .fill(held_source);
}

// One SELECT for each row, because the column decides which values of an id are the same.
std::string mysql_row_sql::poll_all(std::span<const request> requests) const {
  return joined(requests, " UNION ALL ", [&](std::size_t i) { return poll(requests[i], fmt::format("{}, ", i)); });
}

std::string mysql_row_sql::ask(const row_id& row) const {
  return text(*row.table)
      .set("row", rows_by_id(*row.table, std::array{&row}))
      .fill(sql::template_of(sql::lock_statement::ask_for_row).sql);
}

std::string mysql_row_sql::revoke(const row_id& row) const {
  return text(*row.table).set("row", where(row)).fill(revoke_source);
}

std::string mysql_row_sql::fence_of(const request& request) const {
  return text(*request.row->table)
      .set("row", where(*request.row))
      .set_holder(owner_of(request))
      .fill(sql::template_of(sql::lock_statement::granted_fence).sql);
}

verification mysql_row_sql::for_transaction(const request& grant, row_statement which, session_zone in) const {
  const auto& row = *grant.row;
  auto named = text(*row.table);
  std::vector<sql::named_value> ids;
  for (std::size_t i = 0; i != row.values.size(); ++i) ids.push_back(value_of(row, i));
  return sql::about_row(grant, zone_prefix(*row.table, in) + set_freed(named.set_names(), *row.table, in).fill(which),
                        owner_of(grant), grant.fence, std::move(ids), mysql_value_literal);
}

verification mysql_row_sql::release(const request& grant, session_zone in) const {
  return for_transaction(grant, row_statement::release, in);
}

verification mysql_row_sql::verify(const request& grant) const {
  return for_transaction(grant, row_statement::verify, session_zone::utc);
}

verification mysql_row_sql::sees(const request& grant) const {
  return for_transaction(grant, row_statement::sees, session_zone::utc);
}

// ---- many rows of one table -----------------------------------------------------------------------------------------

// Selects each row by its attempt, and for a release or an extension by its grant. Each branch names the primary key,
// so that the server reads no other row.
std::string mysql_row_sql::any_of_ours(std::span<const request> requests, const row_table& as,
                                       std::string_view before) const {
  return "(" +
         joined(requests, " OR ",
                [&](std::size_t i) {
                  const auto& each = requests[i];
                  return text(as)
                      .set("row", where(*each.row, before))
                      .set_holder(owner_of(each))
                      .set("my_fence", std::to_string(each.fence))
                      .fill(each.action == verb::cancel ? "({row} AND {owned})" : "({row} AND {ours})");
                }) +
         ")";
}

// As for one row, each row is judged by its own columns when it is locked. read_all() shows who was granted what,
// because the owner's text names the attempt.
std::string mysql_row_sql::change_all(std::span<const request> requests, bool skip) const {
  const auto& first = requests.front();
  const auto before = sql::qualifier(*first.row->table, quote);
  const auto as = sql::qualified(*first.row->table, quote);
  auto change = text(as);
  change.set("rows", rows_of(requests, as, before, skip));
  if (first.action == verb::extend) {
    return change.set("expiry", expiry(as, first.ttl))
        .set("any", any_of_ours(requests, as, before))
        .fill("UPDATE {rows} SET {extended} WHERE {any} AND {in_time}");
  }
  if (first.action != verb::take) {
    return set_freed(change, as, session_zone::utc)
        .set("any", any_of_ours(requests, as, before))
        .fill("UPDATE {rows} SET {freed} WHERE {any}");
  }
  const auto me = by_row(requests, before, [&](std::size_t i) { return "'" + owner_of(requests[i]).text() + "'"; });
  return change.set("me", me)
      .set("next_fence_of_row", as.fence + " + 1")
      .set("expiry", expiry(as, sql::own_ttl(first)))
      .set("row", any_of(requests, before))
      .fill(row_statement::take);
}

std::string mysql_row_sql::read_all(std::span<const request> requests) const {
  return text(*requests.front().row->table)
      .set("number", by_row(requests, "", [](std::size_t i) { return std::to_string(i); }))
      .set("any", any_of(requests, ""))
      .fill("SELECT {number}, {owner}, {free}, {fence} FROM {table} FORCE INDEX (PRIMARY) WHERE {any}");
}

// ---- for statements of the application's ----------------------------------------------------------------------------

std::string mysql_row_sql::free_rows(const row_table& table) const {
  const auto as = sql::qualified(table, quote);
  return text(as).fill("{free}");
}

std::string mysql_row_sql::abandoned_rows(const row_table& table) const {
  // free_rows() finds rows whose shared expiry has passed, so none is left.
  if (by_column(table)) return "FALSE";
  const auto as = sql::qualified(table, quote);
  return text(as).fill(abandoned_source);
}

std::string mysql_row_sql::claim(const sql::claim_request& request, session_zone in) const {
  const auto& table = request.table;
  return zone_prefix(table, in) + text(table)
                                      .set_holder({request.session, request.nonce, tables()})
                                      .set("next_fence_of_row", table.fence + " + 1")
                                      .set("expiry", expiry(table, request.own_ttl, in))
                                      .set("row", rows_by_id(table, request.rows) + " AND " + free_rows(table))
                                      .fill(row_statement::claim);
}

std::string mysql_row_sql::rows_by_id(const row_table& table, std::span<const row_id* const> rows) const {
  const auto before = sql::qualifier(table, quote);
  return table.id.size() == 1 ? in_list(rows, before + table.id[0]) : one_by_one(rows, before);
}

std::string mysql_row_sql::add_columns(const row_table& table) const {
  return fmt::format("ALTER TABLE {} ADD COLUMN {}", table.table,
                     fmt::join(sql::added_columns(added_types, table), ", ADD COLUMN "));
}

}  // namespace dlock::stores::mysql::lease_table
