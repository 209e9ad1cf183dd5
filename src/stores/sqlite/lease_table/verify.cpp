// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/sqlite/lease_table/verify.hpp"

#include <unistd.h>

#include <string>
#include <utility>

#include "stores/sql/row_owner.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

/// Collects a statement in both forms.
class writer {
 public:
  writer& sql(std::string_view part) {
    made_.sql += part;
    made_.text += part;
    return *this;
  }
  writer& value(verification::parameter one) {
    made_.sql += '?';
    made_.text += row_literal(one);
    made_.parameters.push_back(std::move(one));
    return *this;
  }
  writer& bytes(std::string_view one) { return value(verification::bytes{std::string(one)}); }

  /// The key, if it is still ours.
  verification where_held(const request& grant, const sql::table_names& names) {
    const auto& id = grant.session.bytes;
    sql(names.expand(" WHERE {lock.lock_key} = ")).bytes(grant.resource);
    sql(names.expand(" AND {lock.session_id} = ")).bytes({reinterpret_cast<const char*>(id.data()), id.size()});
    sql(names.expand(" AND {lock.fence} = ")).value(static_cast<std::int64_t>(grant.fence));
    return std::move(made_);
  }
  /// The row in place, if it is still ours.
  verification where_owned(const request& grant, const sql::row_owner& owner) {
    const row_table& table = *grant.row->table;
    sql(" WHERE ");
    for (std::size_t i = 0; i < table.id.size(); ++i) {
      sql(table.id[i]).sql(" = ").value(row_argument(grant.row->values[i])).sql(" AND ");
    }
    sql(table.owner).sql(" IN (").value(owner.text()).sql(", ").value(owner.verified_text()).sql(")");
    if (has_own_fence(table)) {
      sql(" AND ").sql(table.fence).sql(" = ").value(static_cast<std::int64_t>(grant.fence));
    }
    return std::move(made_);
  }

 private:
  verification made_{};
};

}  // namespace

verification sqlite_verification(const request& grant, const sql::table_names& names) {
  writer w;
  if (grant.row == nullptr) {
    w.sql(names.expand("UPDATE {lock} SET {lock.verified_by} = ")).value(std::int64_t{::getpid()});
    w.sql(names.expand(", {lock.verifies} = {lock.verifies} + 1"));
    return w.where_held(grant, names);
  }
  const row_table& table = *grant.row->table;
  const sql::row_owner owner{grant.session, grant.nonce};
  w.sql("UPDATE ").sql(table.table).sql(" SET ").sql(table.owner).sql(" = CASE ").sql(table.owner);
  w.sql(" WHEN ").value(owner.text()).sql(" THEN ").value(owner.verified_text());
  w.sql(" ELSE ").value(owner.text()).sql(" END");
  return w.where_owned(grant, owner);
}

verification sqlite_release(const request& grant, const sql::table_names& names) {
  writer w;
  if (grant.row != nullptr) {
    w.sql(row_free_it(*grant.row->table, "datetime('now')"));
    return w.where_owned(grant, {grant.session, grant.nonce});
  }
  if (grant.min_hold.count() > 0) {
    // Rule 12: holder and fence stay. An end that has passed already frees the key as well.
    w.sql(names.expand("UPDATE {lock} SET {lock.expires_at_us} = {lock.acquired_at_us} + "));
    w.value(std::int64_t{grant.min_hold.count()});
  } else {
    w.sql(names.expand("UPDATE {lock} SET {lock.session_id} = NULL, {lock.expires_at_us} = NULL"));
  }
  return w.where_held(grant, names);
}

}  // namespace dlock::stores::sqlite::lease_table
