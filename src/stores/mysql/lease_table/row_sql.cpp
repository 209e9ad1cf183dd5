// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/row_sql.hpp"

#include <fmt/format.h>

#include <array>

#include "stores/mysql/client/native.hpp"
#include "stores/mysql/lease_table/row_condition.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

std::string quoted(const sql::row_holder& who) { return "'" + who.text() + "'"; }

}  // namespace

mysql_row_sql::mysql_row_sql(const sql::table_names& names, const std::string& database) : names_(names) {
  for (const char* const table : {"lock", "session", "floor"}) {
    names_.add_text(table, quote_mysql_name(database) + "." + names.quoted_table(table));
  }
}

std::string mysql_row_sql::expand(std::string_view text, std::initializer_list<sql::named_part> parts) const {
  return sql::expand(names_, text, parts);
}

std::string mysql_row_sql::read_tables_id() const {
  return expand("SELECT {floor.fence} FROM {floor} WHERE {floor.id} = {row}",
                {{"row", std::to_string(sql::tables_id::floor_row)}});
}

std::string mysql_row_sql::expiry(const row_table& table, microseconds own_ttl, session_zone in) const {
  if (!by_column(table)) return own_ttl.count() > 0 ? fmt::format("{}+{}", own_ttl.count(), server_clock) : "NULL";
  // Rounded up: it must not look passed to others while we trust it.
  return timestamp(fmt::format("({}+{}) DIV 1000000", server_clock, own_ttl.count() + 999'999), in);
}

std::string mysql_row_sql::grant(const row_table& table, const std::string& owner, const std::string& expiry,
                                 bool tell_fence) const {
  auto text = fmt::format("{}={}, ", table.owner, owner);
  text +=
      tell_fence ? fmt::format("{0}=LAST_INSERT_ID({0}+1), ", table.fence) : fmt::format("{0}={0}+1, ", table.fence);
  if (fence_is_ours(table)) text += fmt::format("{0}={0}+1, ", table.version);
  return text + fmt::format("{}={}", table.expires_at, expiry);
}

// Rule 1, without a read before it.
std::string mysql_row_sql::take(const request& request) const {
  const auto& table = *request.row->table;
  static const auto text = sql::in_one_line(R"(
UPDATE {table}
SET {grant}
WHERE {row}
  AND ({nobody} OR {expired})
)");
  return expand(text, {{"table", table.table},
                       {"grant", grant(table, quoted(owner_of(request)), expiry(table, own_ttl(request)), true)},
                       {"row", where(*request.row)},
                       {"nobody", nobody(table)},
                       {"expired", expired(table)}});
}

std::string mysql_row_sql::look(const request& request) const { return look(request, ""); }

// Not one condition for all: which values the server takes for the same id depends on the column.
std::string mysql_row_sql::look_at_all(std::span<const request> requests) const {
  std::string all;
  for (std::size_t i = 0; i != requests.size(); ++i) {
    all += (i == 0 ? "" : " UNION ALL ") + look(requests[i], fmt::format("{}, ", i));
  }
  return all;
}

std::string mysql_row_sql::look(const request& request, std::string_view before) const {
  const auto& table = *request.row->table;
  const auto left = expand(by_column(table) ? "CAST((UNIX_TIMESTAMP(t.{expires_at})+1)*1000000 AS SIGNED)-{now}"
                                            : "IFNULL(t.{expires_at}, s.{session.expires_at_us})-{now}",
                           {{"expires_at", table.expires_at}});
  static const auto text = sql::in_one_line(R"(
SELECT
  {before}t.{owner}, t.{fence}, t.{expires_at} IS NULL, s.{session.id} IS NULL, {left},
  s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.revoked}
FROM {table} t
LEFT JOIN {session} s ON s.{session.id} = UNHEX(LEFT(t.{owner},32))
WHERE {row}
)");
  return expand(text, {{"before", before},
                       {"owner", table.owner},
                       {"fence", table.fence},
                       {"expires_at", table.expires_at},
                       {"left", left},
                       {"table", table.table},
                       {"row", where(*request.row, "t.")}});
}

std::string mysql_row_sql::ask(const row_id& row) const {
  return expand("SELECT 1 FROM {table} WHERE {row} FOR UPDATE NOWAIT",
                {{"table", row.table->table}, {"row", rows_by_id(*row.table, std::array{&row})}});
}

// A plain sub-query: it names the holder of this moment, and an operator cannot mean more. The owner that another program, or one
// with other lock tables, has written is none of our sessions.
std::string mysql_row_sql::revoke(const row_id& row) const {
  const auto& table = *row.table;
  static const auto text = sql::in_one_line(R"(
UPDATE {session}
SET {session.revoked} = 1
WHERE {session.id} = (
  SELECT UNHEX(LEFT({owner},32))
  FROM {table}
  WHERE {row}
    AND {expires_at} IS NULL
    AND SUBSTR({owner},33,5)='/{tables}')
)");
  return expand(text, {{"owner", table.owner},
                       {"table", table.table},
                       {"row", where(row)},
                       {"expires_at", table.expires_at},
                       {"tables", tables().text()}});
}

// Rule 2: about the holder and the grant that were seen. Another program has no session: only its expiry ends its lock.
std::string mysql_row_sql::take_over(const request& request) const {
  const auto& table = *request.row->table;
  const bool foreign = request.expected->holder == sql::foreign_owner;
  const auto holder = foreign
                          ? fmt::format("{}<>''", table.owner)
                          : ours(table, sql::row_holder{request.expected->holder, request.expected->nonce, tables()});
  const auto dead = by_column(table) || foreign
                        ? expired(table)
                        : expand(
                              "({expired} OR ({expires_at} IS NULL AND NOT EXISTS (SELECT 1 FROM {session} s WHERE "
                              "s.{session.id}=X'{holder}')))",
                              {{"expired", expired(table)},
                               {"expires_at", table.expires_at},
                               {"holder", request.expected->holder.hex()}});
  static const auto text = sql::in_one_line(R"(
UPDATE {table}
SET {grant}
WHERE {row}
  AND {holder}
  AND {fence}={seen_fence}
  AND {dead}
)");
  return expand(text, {{"table", table.table},
                       {"grant", grant(table, quoted(owner_of(request)), expiry(table, own_ttl(request)), true)},
                       {"row", where(*request.row)},
                       {"holder", holder},
                       {"fence", table.fence},
                       {"seen_fence", std::to_string(request.expected->fence)},
                       {"dead", dead}});
}

std::string mysql_row_sql::fence_of(const request& request) const {
  const auto& table = *request.row->table;
  return expand("SELECT {fence} FROM {table} WHERE {row} AND {ours}", {{"fence", table.fence},
                                                                       {"table", table.table},
                                                                       {"row", where(*request.row)},
                                                                       {"ours", ours(table, owner_of(request))}});
}

std::string mysql_row_sql::extend(const request& request) const {
  const auto& table = *request.row->table;
  const auto fence = fence_is_ours(table) ? fmt::format(" AND {}={}", table.fence, request.fence) : std::string();
  static const auto text = sql::in_one_line(R"(
UPDATE {table}
SET {expires_at}=GREATEST({expires_at}, {expiry})
WHERE {row}
  AND {ours}{fence}
  AND {alive}
)");
  return expand(text, {{"table", table.table},
                       {"expires_at", table.expires_at},
                       {"expiry", expiry(table, request.ttl)},
                       {"row", where(*request.row)},
                       {"ours", ours(table, owner_of(request))},
                       {"fence", fence},
                       {"alive", alive(table)}});
}

// Rule 6: names session and nonce: the attempt, whatever fence it got.
std::string mysql_row_sql::cancel(const request& request) const {
  const auto& table = *request.row->table;
  return expand("UPDATE {table} SET {freed} WHERE {row} AND {ours}", {{"table", table.table},
                                                                      {"freed", freed(table, session_zone::utc)},
                                                                      {"row", where(*request.row)},
                                                                      {"ours", ours(table, owner_of(request))}});
}

verification mysql_row_sql::release(const request& grant, session_zone in) const {
  const auto& table = *grant.row->table;
  bound_sql to;
  to << zone_prefix(table, in) << "UPDATE " << table.table << " SET " << freed(table, in) << " WHERE ";
  bind_ours(to, grant, owner_of(grant));
  return std::move(to.statement);
}

// An update that changes nothing would not be part of what a cluster certifies, so the owner's text goes to and fro.
verification mysql_row_sql::verify(const request& grant) const {
  const auto& table = *grant.row->table;
  const auto who = owner_of(grant);
  bound_sql to;
  to << "UPDATE " << table.table << " SET " << table.owner << "=IF(" << table.owner << "=" << bound{who.text()} << ","
     << bound{who.verified_text()} << "," << bound{who.text()} << ") WHERE ";
  bind_ours(to, grant, who);
  return std::move(to.statement);
}

// ---- for statements of the application's ----------------------------------------------------------------------------

std::string mysql_row_sql::free_rows(const row_table& table) const {
  const auto as = qualified(table);
  return expand("({nobody} OR {expired})", {{"nobody", nobody(as)}, {"expired", expired(as)}});
}

std::string mysql_row_sql::abandoned_rows(const row_table& table) const {
  // A shared expiry column says it all, and free_rows() has read it.
  if (by_column(table)) return "FALSE";
  const auto as = qualified(table);
  static const auto text = sql::in_one_line(R"(
({expires_at} IS NULL
 AND SUBSTR({owner},33,5)='/{tables}'
 AND NOT EXISTS (
   SELECT 1
   FROM {session} s
   WHERE s.{session.id} = UNHEX(LEFT({owner},32))
     AND s.{session.expires_at_us} > {now}))
)");
  return expand(text, {{"expires_at", as.expires_at}, {"owner", as.owner}, {"tables", tables().text()}});
}

std::string mysql_row_sql::claim(const sql::claim_request& request, session_zone in) const {
  const auto owner = quoted({request.session, request.nonce, tables()});
  return expand("{zone}UPDATE {table} SET {grant} WHERE {rows} AND {free}",
                {{"zone", zone_prefix(request.table, in)},
                 {"table", request.table.table},
                 {"grant", grant(request.table, owner, expiry(request.table, request.own_ttl, in), false)},
                 {"rows", rows_by_id(request.table, request.rows)},
                 {"free", free_rows(request.table)}});
}

std::string mysql_row_sql::rows_by_id(const row_table& table, std::span<const row_id* const> rows) const {
  const auto as = qualified(table);
  std::string text;
  if (as.id.size() == 1) {
    for (const auto* row : rows) {
      text += (text.empty() ? as.id[0] + " IN (" : ",") + literal_of(*row, 0);
    }
    return text + ")";
  }
  // Not (a, b) IN ((1, 2), ...): MariaDB reads the whole index for that.
  const auto before = qualifier(table);
  for (const auto* row : rows) text += fmt::format("{}({})", text.empty() ? "(" : " OR ", where(*row, before));
  return text + ")";
}

std::string mysql_row_sql::add_columns(const row_table& table) const {
  auto text = fmt::format("ALTER TABLE {} ADD COLUMN {} VARCHAR(50) {}", table.table, table.owner,
                          table.owner_not_null ? "NOT NULL DEFAULT ''" : "NULL");
  // A default of its own: without one, older servers make the first TIMESTAMP follow every update.
  text += fmt::format(", ADD COLUMN {} {}", table.expires_at,
                      by_column(table) ? "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP" : "BIGINT NULL");
  if (fence_is_ours(table) || (table.version.empty() && !by_column(table))) {
    text += fmt::format(", ADD COLUMN {} BIGINT UNSIGNED NOT NULL DEFAULT 0", table.fence);
  }
  return text;
}

}  // namespace dlock::stores::mysql::lease_table
