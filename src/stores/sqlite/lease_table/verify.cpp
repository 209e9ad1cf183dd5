// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/verify.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "stores/sql/named_sql.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"
#include "stores/sqlite/lease_table/sql.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

// Rule 12: holder and fence stay. An end that has passed already frees the key as well.
constexpr const char* release_min_hold_text = R"(
UPDATE {lock}
SET {lock.expires_at_us} = {lock.acquired_at_us} + :min_hold
WHERE {lock.lock_key} = :key
  AND {lock.session_id} = :session
  AND {lock.fence} = :fence
)";

using values = std::vector<sql::named_value>;

verification::bytes bytes_of(std::string_view text) { return {std::string(text)}; }

verification written(const std::string& text, values all) {
  for (auto& each : all) each.literal = row_literal(each.value);
  return sql::with_values(sql::in_one_line(text), all);
}

/// What such a statement says of a grant of a key, and `more`.
verification about_key(const request& grant, const sql::table_names& names, const char* text, values more = {}) {
  const auto& id = grant.session.bytes;
  more.push_back({"key", bytes_of(grant.resource)});
  more.push_back({"session", bytes_of({reinterpret_cast<const char*>(id.data()), id.size()})});
  more.push_back({"fence", static_cast<std::int64_t>(grant.fence)});
  return written(names.expand(text), std::move(more));
}

/// A statement about the row in place, if it is still ours.
verification about_row(const request& grant, sql::tables_id tables, const std::string& change, values more = {}) {
  const row_table& table = *grant.row->table;
  const sql::row_holder owner{grant.session, grant.nonce, tables};
  std::string text = change + " WHERE ";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table.id.size(); ++i) names.push_back(fmt::format("id{}", i + 1));
  for (std::size_t i = 0; i < table.id.size(); ++i) {
    text += fmt::format("{} = :{} AND ", table.id[i], names[i]);
    more.push_back({names[i], row_argument(grant.row->values[i])});
  }
  text += fmt::format("{} IN (:owner, :verified_owner)", table.owner);
  more.push_back({"owner", owner.text()});
  more.push_back({"verified_owner", owner.verified_text()});
  if (has_own_fence(table)) {
    text += fmt::format(" AND {} = :fence", table.fence);
    more.push_back({"fence", static_cast<std::int64_t>(grant.fence)});
  }
  return written(text, std::move(more));
}

}  // namespace

verification sqlite_verification(const request& grant, const sql::table_names& names, sql::tables_id tables) {
  if (grant.row == nullptr) {
    return about_key(grant, names, sql::verify_source(), {{"connection", std::int64_t{::getpid()}}});
  }
  const row_table& table = *grant.row->table;
  return about_row(grant, tables,
                   fmt::format("UPDATE {0} SET {1} = CASE {1} WHEN :owner THEN :verified_owner ELSE :owner END",
                               table.table, table.owner));
}

verification sqlite_release(const request& grant, const sql::table_names& names, sql::tables_id tables) {
  if (grant.row != nullptr) return about_row(grant, tables, row_free_it(*grant.row->table, "datetime('now')"));
  if (grant.min_hold.count() <= 0) return about_key(grant, names, sql::source_of(statement_id::release));
  return about_key(grant, names, release_min_hold_text, {{"min_hold", std::int64_t{grant.min_hold.count()}}});
}

}  // namespace dlock::stores::sqlite::lease_table
