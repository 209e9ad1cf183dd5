// SPDX-License-Identifier: GPL-2.0-or-later
// What operators ask: through ODB, because none of it is hot.
#include <fmt/format.h>

#include <algorithm>

#include "held_lock_view-odb-mysql.hxx"
#include "stores/mysql/client/guard.hpp"
#include "stores/mysql/lease_table/rows.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "stores/sql/holder_rows.hpp"
#include "stores/sql/scoped_transaction.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

// The columns in the order of entities::held_lock_view. A row whose own expiry has passed is free (rule 1).
constexpr const char* holders =
    "SELECT l.{lock.lock_key}, l.{lock.session_id}, l.{lock.fence}, {now}-l.{lock.acquired_at_us}, "
    "IFNULL(IFNULL(l.{lock.expires_at_us}, s.{session.expires_at_us})-{now}, 0), l.{lock.expires_at_us} IS "
    "NULL, "
    "IFNULL(l.{lock.expires_at_us} IS NULL AND s.{session.doomed}, 0), "
    "l.{lock.expires_at_us} IS NULL AND (s.{session.id} IS NULL OR s.{session.expires_at_us}<={now}), "
    "IFNULL(s.{session.host}, ''), "
    "IFNULL(s.{session.pid}, 0), IFNULL(s.{session.label}, '') "
    "FROM {lock} l LEFT JOIN {session} s ON s.{session.id}=l.{lock.session_id} "
    "WHERE l.{lock.session_id} IS NOT NULL AND (l.{lock.expires_at_us} IS NULL OR "
    "l.{lock.expires_at_us}>{now}) AND ";

holder_info info_of(const entities::held_lock_view& row) {
  auto made = sql::described(row);
  made.since = std::max(made.since, microseconds{0});  // by a wall clock
  return made;
}

}  // namespace

reply mysql_store::query_holders(native& on, const std::string& condition, std::string_view value, std::size_t limit,
                                 std::vector<holder_info>& out) {
  using query = odb::mysql::query_base;
  reply made;
  if (!on.usable()) {
    made.why = make_own_fault("the connection was closed", true, true);
    return made;
  }
  const std::vector<char> key(value.begin(), value.end());
  query text(sql_.names().expand(holders + condition));
  text += query(query::_val<odb::mysql::id_blob>(key));
  text += query(sql_.names().expand(fmt::format(" ORDER BY l.{{lock.lock_key}} LIMIT {}", limit)));
  sql::scoped_transaction scope(on.odb());
  std::vector<holder_info> found;
  for (const auto& row : client_.database().query<entities::held_lock_view>(text)) found.push_back(info_of(row));
  scope.commit();
  out = std::move(found);
  made.result = outcome::yes;
  return made;
}

reply mysql_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  auto& with = static_cast<native&>(on);
  return guarded(with, "inspect", [&] {
    if (key.row != nullptr) return find_row_holder(with, row_sql_, *key.row, found);
    return query_holders(with, "l.{lock.lock_key}=", key.resource, 1, found);
  });
}

reply mysql_store::list(connection& on, std::string_view after, std::size_t limit,
                        std::vector<holder_info>& found) noexcept {
  auto& with = static_cast<native&>(on);
  return guarded(with, "list", [&] { return query_holders(with, "l.{lock.lock_key}>", after, limit, found); });
}

reply mysql_store::revoke(connection& on, const request& key) noexcept {
  auto& with = static_cast<native&>(on);
  return guarded(with, "revoke", [&] {
    // Rule 12: the session is marked, not the lock's row: it loses what it holds when its expiry passes. A
    // plain sub-query: it names the holder of this moment, and an operator cannot mean more.
    const auto sql = key.row != nullptr ? row_sql_.revoke(*key.row)
                                        : sql_.names().expand(
                                              "UPDATE {session} SET {session.doomed}=1 WHERE {session.id}=(SELECT "
                                              "{lock.session_id} FROM {lock} WHERE {lock.lock_key}=" +
                                              mysql_literal(key.resource) + " AND {lock.expires_at_us} IS NULL)");
    reply made;
    std::uint64_t rows = 0;
    made.result = with.query(sql, "revoke", nullptr, &rows, made.why);
    if (made.result == outcome::yes && rows == 0) made.result = outcome::no;
    return made;
  });
}

}  // namespace dlock::stores::mysql::lease_table
