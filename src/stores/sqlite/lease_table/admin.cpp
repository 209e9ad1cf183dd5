// SPDX-License-Identifier: BSL-1.0

/// What operators ask for.

#include <dlock/detail/odb_compat.hpp>
//
#include <algorithm>
#include <limits>
#include <odb/exceptions.hxx>
#include <odb/result.hxx>
#include <odb/sqlite/exceptions.hxx>
#include <odb/sqlite/query.hxx>
#include <utility>

#include "held_lock_view-odb-sqlite.hxx"
#include "held_lock_view-odb.hxx"
#include "stores/sql/holder_rows.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sql/scoped_transaction.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"
#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

using entities::held_lock_view;
using query = odb::sqlite::query_base;

/// A limit that SQLite's signed integers can hold.
std::int64_t clamped(std::size_t limit) noexcept {
  return static_cast<std::int64_t>(std::min(limit, static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())));
}

// Held is: by a session, whatever became of it, or until an own expiry that has not passed.
constexpr const char* held_until_now = R"(
SELECT
  l.{lock.lock_key}, l.{lock.session_id}, l.{lock.fence}, t.now - l.{lock.acquired_at_us},
  COALESCE(l.{lock.expires_at_us}, s.{session.expires_at_us}, t.now) - t.now,
  l.{lock.expires_at_us} IS NULL,
  COALESCE(s.{session.revoked}, 0),
  l.{lock.expires_at_us} IS NULL
    AND (s.{session.id} IS NULL
         OR s.{session.expires_at_us} <= t.now
         OR s.{session.boot} <> t.boot AND s.{session.expires_at_us} > t.now + s.{session.ttl_us}),
  COALESCE(s.{session.host}, ''), COALESCE(s.{session.pid}, 0), COALESCE(s.{session.label}, '')
FROM (SELECT)";
constexpr const char* held_since_now = R"(AS boot) AS t
CROSS JOIN {lock} l
LEFT JOIN {session} s ON s.{session.id} = l.{lock.session_id}
WHERE l.{lock.session_id} IS NOT NULL
  AND (l.{lock.expires_at_us} IS NULL OR l.{lock.expires_at_us} > t.now))";

/// The held locks that `condition` chooses. Several tries see the same place in `out`.
reply select_held(lease_connection& connection, const query& condition, std::vector<holder_info>& out) {
  sqlite_busy_retry retry(connection, lane::read, connection.file().settings.statement_timeout());
  const auto& names = connection.file().names;
  const std::size_t before = out.size();
  int code = retry.begin();
  if (code != SQLITE_OK) return connection.refused(code, false);
  do {
    try {
      out.resize(before);
      sql::scoped_transaction scope(connection.odb());
      const std::int64_t now = connection.file().now();
      const query text = query(sql::in_one_line(names.expand(held_until_now))) + query::_val(now) + "AS now," +
                         query::_val(connection.file().boot) + sql::in_one_line(names.expand(held_since_now));
      for (const held_lock_view& row : connection.file().database().query<held_lock_view>(text + condition)) {
        out.push_back(sql::described(row));
      }
      scope.commit();
      return {.result = outcome::yes};
    } catch (const odb::timeout&) {
      code = SQLITE_BUSY;
    } catch (const odb::sqlite::database_exception& e) {
      code = e.extended_error();
    }
  } while (retry.again(code));
  return connection.refused(code, false);
}

/// The holder of a row of the application's. None: `out` stays as it is.
reply find_row_holder(lease_connection& connection, const row_id& row, std::vector<holder_info>& out) {
  sqlite_busy_retry retry(connection, lane::read, connection.file().settings.statement_timeout());
  const bool column = row.table->renewal == row_renewal::column;
  std::int64_t sessions_now = 0;
  bool found = false;
  holder_info info;
  const auto read = [&](const sqlite_statement& s) {
    const auto owner = sql::row_holder::parse(s.text(0), connection.file().tables());
    const auto now = column ? row_time::wall_clock().count() : sessions_now + connection.file().row_epoch().count();
    const bool too_far = !column && s.integer(2) > now + row_horizon.count();
    found = !s.text(0).empty() && (s.is_null(2) || (s.integer(2) > now && !too_far));
    info = {.session = owner ? owner->session : id128{},
            .fence = static_cast<std::uint64_t>(s.integer(1)),
            .host = std::string(s.text(4)),
            .pid = s.integer(5),
            .label = owner ? std::string(s.text(6)) : sql::row_holder::describe_foreign(s.text(0)),
            .kind = s.is_null(2) ? lease_kind::session : sql::kind_of_expiry(*row.table)};
    info.revoked = s.is_null(2) && s.integer(7) != 0;
    const auto end = !s.is_null(2) ? s.integer(2) - now : s.is_null(3) ? 0 : s.integer(3) - sessions_now;
    info.remaining = microseconds{std::max<std::int64_t>(0, end)};
    const bool other_boot = s.text(9) != connection.file().boot && end > s.integer(8);
    info.dead = owner && s.is_null(2) && (end <= 0 || other_boot);
  };
  sqlite_statement statement;
  const int code = connection.run(
      statement, row_holder(row, connection.file().names), retry,
      [&](sqlite_statement&, std::int64_t now) { sessions_now = now; }, read);
  if (code != SQLITE_DONE) return connection.refused(code, false);
  if (found) out.push_back(std::move(info));
  return {.result = outcome::yes};
}

std::vector<char> bytes(std::string_view key) { return {key.begin(), key.end()}; }

/// Calls `body` on a connection that may be used; what it throws becomes the reply.
template <class Body>
reply reply_or_in_doubt(connection& connection, Body body) noexcept try {
  auto& link = static_cast<lease_connection&>(connection);
  if (const int code = link.check(); code != SQLITE_OK) return link.refused(code, false);
  try {
    return body(link);
  } catch (const odb::exception& e) {
    return {.why = {.text = "SQLite file '" + link.file().settings.path + "': " + e.what()}};
  }
} catch (...) {
  return out_of_memory();
}

}  // namespace

reply sqlite_store::inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    if (key.row != nullptr) return find_row_holder(c, *key.row, found);
    const query name(query::_val<odb::sqlite::id_blob>(bytes(key.resource)));
    return select_held(c, query(c.file().names.expand("AND l.{lock.lock_key} =")) + name, found);
  });
}

reply sqlite_store::list(connection& connection, std::string_view after, std::size_t limit,
                         std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    const auto& names = c.file().names;
    const query order = query(names.expand("ORDER BY l.{lock.lock_key} LIMIT")) + query::_val(clamped(limit));
    if (after.empty()) return select_held(c, order, found);
    const query start(query::_val<odb::sqlite::id_blob>(bytes(after)));
    return select_held(c, query(names.expand("AND l.{lock.lock_key} >")) + start + order, found);
  });
}

reply sqlite_store::revoke(connection& connection, const request& key) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) -> reply {
    if (fault why; !caller_may_wait(why)) return {.why = std::move(why)};
    sqlite_busy_retry retry(c, lane::write, file_->settings.statement_timeout());
    int code = SQLITE_DONE;
    if (key.row != nullptr) {
      sqlite_statement revoke;
      code = c.run(
          revoke, row_revoke(*key.row, c.file().names), retry, [](sqlite_statement&, std::int64_t) {}, no_rows);
    } else {
      lease_values values{.key = key.resource};
      code = c.run(statement_id::revoke, retry, values);
    }
    if (code != SQLITE_DONE) return c.refused(code, true);
    return {.result = c.changed() ? outcome::yes : outcome::no};
  });
}

}  // namespace dlock::stores::sqlite::lease_table
