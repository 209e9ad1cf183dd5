// SPDX-License-Identifier: GPL-2.0-or-later
// Statements for transactions of the application's, and who has one open.
#include <fmt/format.h>

#include <cstdlib>

#include "stores/mysql/client/guard.hpp"
#include "stores/mysql/lease_table/store.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

verification::bytes bytes_of(std::string_view text) { return {std::string(text)}; }

verification::bytes bytes_of(const id128& id) {
  return bytes_of({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}

void bind_grant(bound_sql& to, const sql::table_names& names, const request& grant) {
  to << names.expand(" WHERE {lock.lock_key}=") << bound{bytes_of(grant.resource)}
     << names.expand(" AND {lock.session_id}=") << bound{bytes_of(grant.session)} << names.expand(" AND {lock.fence}=")
     << bound{grant.fence};
}

/// Rule 12, as the store itself does it: min_hold keeps holder and fence and lets the row end by an expiry of its own.
void bind_min_hold(bound_sql& to, const sql::table_names& names, microseconds min_hold) {
  const bound hold{std::int64_t{min_hold.count()}};
  to << names.expand("{lock.session_id}=IF({lock.acquired_at_us}+") << hold
     << names.expand(">{now}, {lock.session_id}, NULL), {lock.expires_at_us}=IF({lock.acquired_at_us}+") << hold
     << names.expand(">{now}, {lock.acquired_at_us}+") << hold << ", NULL)";
}

}  // namespace

verification mysql_store::verification_of(const request& grant) const {
  bound_sql to;
  if (grant.row != nullptr) {
    to.made = row_sql_.verify(grant);
    to << and_here();
    return std::move(to.made);
  }
  const auto& names = row_sql_.names();
  // The count always changes, so the row does: on a cluster only that makes the commit meet a take-over elsewhere.
  to << names.expand("UPDATE {lock} SET {lock.verified_by}=CONNECTION_ID(), {lock.verifies}={lock.verifies}+1");
  bind_grant(to, names, grant);
  to << and_here();
  return std::move(to.made);
}

verification mysql_store::release_of(const request& grant) const {
  bound_sql to;
  if (grant.row != nullptr) {
    to.made = row_sql_.release(grant, zone());
    to << and_here();
    return std::move(to.made);
  }
  const auto& names = row_sql_.names();
  to << names.expand("UPDATE {lock} SET ");
  if (grant.min_hold.count() > 0) {
    bind_min_hold(to, names, grant.min_hold);
  } else {
    to << names.expand("{lock.session_id}=NULL, {lock.expires_at_us}=NULL");
  }
  bind_grant(to, names, grant);
  to << and_here();
  return std::move(to.made);
}

reply mysql_store::blocker(connection& on, const request& key, connection_identity& out) noexcept {
  auto& with = static_cast<native&>(on);
  return guarded(with, "look for a verified transaction", [&] {
    reply made;
    made.result = outcome::no;
    // A row of the application's has no room for the number of a connection.
    if (key.row != nullptr) return made;
    const auto sql = sql_.names().expand(
        "SELECT {lock.verified_by}, {lock.verifies} FROM {lock} WHERE "
        "{lock.lock_key}=" +
        mysql_literal(key.resource));
    mysql_rows dirty;
    mysql_rows committed;
    // For the next statement alone. The dirty read comes first: what is committed in between is then no higher.
    made.result =
        with.query("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "read uncommitted", nullptr, nullptr, made.why);
    if (made.result == outcome::yes) made.result = with.query(sql, "read uncommitted", &dirty, nullptr, made.why);
    if (made.result == outcome::yes) made.result = with.query(sql, "read committed", &committed, nullptr, made.why);
    if (made.result != outcome::yes) return made;
    made.result = outcome::no;
    if (dirty.empty() || committed.empty()) return made;
    const auto number = [](const mysql_rows& from, std::size_t at) {
      return std::strtoull(from.at(0).at(at).value_or("0").c_str(), nullptr, 10);
    };
    if (number(dirty, 1) <= number(committed, 1) || number(dirty, 0) == 0) return made;
    out = with.identity();
    out.id = number(dirty, 0);
    made.result = outcome::yes;
    return made;
  });
}

}  // namespace dlock::stores::mysql::lease_table
