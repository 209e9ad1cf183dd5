// SPDX-License-Identifier: BSL-1.0

/// Statements about a grant of ours for transactions of the application's.

#include <unistd.h>

#include <utility>
#include <vector>

#include "stores/sql/named_sql.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"
#include "stores/sqlite/lease_table/store.hpp"

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

verification about_key(const request& grant, const lease_file& file, const char* source,
                       std::vector<sql::named_value> more = {}) {
  return sql::about_key(grant, file.names.expand(source), static_cast<std::int64_t>(grant.fence), std::move(more),
                        row_literal);
}

/// A statement about the row in place, if it is still ours.
verification about_row(const request& grant, const lease_file& file, sql::row_statement which) {
  const auto& row = *grant.row;
  std::vector<sql::named_value> ids;
  for (const auto& value : row.values) ids.push_back({"", row_argument(value)});
  return sql::about_row(grant, row_text(*row.table, file.names).set_names().set("now", "datetime('now')").fill(which),
                        {grant.session, grant.nonce, file.tables()}, static_cast<std::int64_t>(grant.fence),
                        std::move(ids), row_literal);
}

}  // namespace

verification sqlite_store::verification_of(const request& grant) const {
  if (grant.row != nullptr) return about_row(grant, *file_, sql::row_statement::verify);
  return about_key(grant, *file_, sql::verify_source(), {{"connection", std::int64_t{::getpid()}}});
}

verification sqlite_store::release_of(const request& grant) const {
  if (grant.row != nullptr) return about_row(grant, *file_, sql::row_statement::release);
  if (grant.min_hold.count() <= 0) return about_key(grant, *file_, sql::source_of(statement_id::release));
  return about_key(grant, *file_, release_min_hold_text, {{"min_hold", std::int64_t{grant.min_hold.count()}}});
}

}  // namespace dlock::stores::sqlite::lease_table
