// SPDX-License-Identifier: BSL-1.0

/// What operators ask for.

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <odb/exceptions.hxx>
#include <odb/result.hxx>
#include <odb/sqlite/exceptions.hxx>
#include <odb/sqlite/query.hxx>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "dlock/lock_key.hpp"
#include "held_lock_view-odb-sqlite.hxx"
#include "held_lock_view-odb.hxx"
#include "stores/findings.hpp"
#include "stores/sql/holder_rows.hpp"
#include "stores/sql/named_sql.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sql/scoped_transaction.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/lease_table/connection.hpp"
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

/// The held locks that `condition` chooses. Several tries see the same place in `out`.
reply select_held(lease_connection& connection, const query& condition, std::vector<holder_info>& out) {
  sqlite_busy_retry retry(connection, lane::read);
  const auto held = sql::in_one_line(connection.file().names.expand(sql::held_locks));
  const std::size_t before = out.size();
  int code = retry.begin();
  if (code != SQLITE_OK) return connection.refused(code, false);
  do {
    try {
      out.resize(before);
      sql::scoped_transaction scope(connection.odb());
      const query text(sql::write_values(
          held, {{"now", std::to_string(connection.file().now())}, {"boot", row_literal(connection.file().boot)}}));
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

/// The holder in the columns of row_holder(), which begin at `first`. None: the row is free.
std::optional<holder_info> holder_in_row(const sqlite_statement& s, int first, const row_table& table,
                                         const lease_file& file, std::int64_t sessions_now) {
  const auto text = s.text(first);
  const auto owner = sql::row_holder::parse(text, file.tables());
  const auto now = file.row_now(table, sessions_now);
  const bool own_expiry = !s.is_null(first + 2);
  const microseconds free_from{s.integer(first + 2)};
  if (text.empty() || (own_expiry && has_passed(table, free_from, now))) return std::nullopt;
  holder_info info{.session = owner ? owner->session : id128{},
                   .fence = static_cast<std::uint64_t>(s.integer(first + 1)),
                   .host = std::string(s.text(first + 4)),
                   .pid = s.integer(first + 5),
                   .label = owner ? std::string(s.text(first + 6)) : sql::row_holder::describe_foreign(text),
                   .kind = own_expiry ? sql::kind_of_expiry(table) : lease_kind::session};
  if (own_expiry) {
    info.remaining = free_from - now;
    return info;
  }
  info.revoked = s.integer(first + 7) != 0;
  const auto end = s.is_null(first + 3) ? 0 : s.integer(first + 3) - sessions_now;
  info.remaining = microseconds{std::max<std::int64_t>(0, end)};
  const bool other_boot = s.text(first + 9) != file.boot && end > s.integer(first + 8);
  info.dead = owner && (end <= 0 || other_boot);
  return info;
}

/// The holder of a row of the application's. None: `out` stays as it is.
reply find_row_holder(lease_connection& connection, const row_id& row, std::vector<holder_info>& out) {
  std::int64_t now = 0;
  std::optional<holder_info> found;
  auto answer = connection.read_once(
      row_holder(row, connection.file().names),
      [&](sqlite_statement&, std::int64_t at) {
        now = at;
        found.reset();
      },
      [&](const sqlite_statement& s) { found = holder_in_row(s, 0, *row.table, connection.file(), now); });
  if (answer.result == outcome::yes && found) out.push_back(std::move(*found));
  return answer;
}

std::vector<char> bytes(std::string_view key) { return {key.begin(), key.end()}; }

}  // namespace

reply sqlite_admin::inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    if (key.row != nullptr) return find_row_holder(c, *key.row, found);
    const query name(query::_val<odb::sqlite::id_blob>(bytes(key.resource)));
    return select_held(c, query(c.file().names.expand("AND l.{lock.lock_key} =")) + name, found);
  });
}

reply sqlite_admin::list(connection& connection, std::string_view after, std::size_t limit,
                         std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    const auto& names = c.file().names;
    const query order = query(names.expand("ORDER BY l.{lock.lock_key} LIMIT")) + query::_val(clamped(limit));
    std::vector<holder_info> made;
    reply answer;
    if (after.empty()) {
      answer = select_held(c, order, made);
    } else {
      const query start(query::_val<odb::sqlite::id_blob>(bytes(after)));
      answer = select_held(c, query(names.expand("AND l.{lock.lock_key} >")) + start + order, made);
    }
    if (answer.result != outcome::yes) return answer;
    if (c.file().knows_waiters()) waiters_.count(made);
    found = std::move(made);
    return answer;
  });
}

reply sqlite_admin::revoke(connection& connection, const request& key) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) -> reply {
    if (fault why; !application_.caller_may_wait(why)) return {.why = std::move(why)};
    sqlite_busy_retry retry(c, lane::write);
    int code = SQLITE_DONE;
    if (key.row != nullptr) {
      sqlite_statement revoke;
      code = c.run(
          revoke, row_revoke(*key.row, c.file().names), retry, [](sqlite_statement&, std::int64_t) {}, no_rows);
    } else {
      lease_values values{.key = key.resource};
      code = c.run(statement_id::revoke, retry, values);
    }
    return c.changed_by(code);
  });
}

// ---- the lock tables as a whole -------------------------------------------------------------------------------------

namespace {

constexpr const char* names_of_sessions = R"(
SELECT s.{session.id}, s.{session.host}, s.{session.pid}, s.{session.label}
FROM {session} s
WHERE s.{session.expires_at_us} > :now
)";

/// A statement with the parameters :now and :most.
template <class Begin, class Row>
reply read_limited(lease_connection& c, const char* source, std::size_t limit, Begin&& begin, Row&& row) {
  return c.read_once(
      sql::in_one_line(c.file().names.expand(source)),
      [&](sqlite_statement& s, std::int64_t now) {
        begin();
        s.bind_named(":now", now);
        s.bind_named(":most", clamped(limit));
      },
      row);
}

/// A table with a column lock_owner, and which of the other lock columns it has.
struct candidate_table {
  std::string name{};
  bool own_expiry = false;  // lock_expires_at_us
  bool version = false;
};

}  // namespace

reply sqlite_admin::overview(connection& connection, std::size_t limit, store_overview& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    store_overview made;
    auto answer = read_limited(
        c, sql::counts, limit, [] {},
        [&](const sqlite_statement& s) {
          made.keys = static_cast<std::uint64_t>(s.integer(0));
          made.held = static_cast<std::uint64_t>(s.integer(1));
          made.held_dead = static_cast<std::uint64_t>(s.integer(2));
          made.grants = s.integer(3);
          made.sessions_alive = static_cast<std::uint64_t>(s.integer(4));
          made.sessions_dead = static_cast<std::uint64_t>(s.integer(5));
        });
    if (answer.result != outcome::yes) return answer;
    answer = read_limited(
        c, sql::sessions, limit, [&] { made.sessions.clear(); },
        [&](const sqlite_statement& s) {
          made.sessions.push_back({.id = s.id(0),
                                   .host = std::string(s.text(1)),
                                   .pid = s.integer(2),
                                   .label = std::string(s.text(3)),
                                   .ttl = microseconds{s.integer(4)},
                                   .age = microseconds{std::max<std::int64_t>(0, s.integer(5))},
                                   .remaining = microseconds{std::max<std::int64_t>(0, s.integer(6))},
                                   .revoked = s.integer(7) != 0,
                                   .dead = s.integer(6) <= 0,
                                   .locks = static_cast<std::uint64_t>(s.integer(8))});
        });
    if (answer.result != outcome::yes) return answer;
    const query order =
        query(c.file().names.expand("ORDER BY l.{lock.acquired_at_us} LIMIT")) + query::_val(clamped(limit));
    answer = select_held(c, order, made.longest);
    answer.statements = 3;
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply sqlite_admin::waiters(connection& connection, std::string_view key, std::size_t limit,
                            waiter_overview& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    found = {};
    if (!c.file().knows_waiters()) return reply{.result = outcome::yes};
    const auto all = waiters_.of_key(key);
    waiter_overview made{.known = true, .count = all.size()};
    for (const auto& each : all) {
      if (made.first.size() == limit) break;
      made.first.push_back({.waited = std::chrono::duration_cast<microseconds>(each.waited)});
    }
    if (made.first.empty()) {
      found = std::move(made);
      return reply{.result = outcome::yes};
    }
    const auto answer = read_limited(
        c, names_of_sessions, 0, [] {},
        [&](const sqlite_statement& s) {
          for (std::size_t i = 0; i != made.first.size(); ++i) {
            if (all[i].session != s.id(0)) continue;
            made.first[i].host = s.text(1);
            made.first[i].pid = s.integer(2);
            made.first[i].label = s.text(3);
          }
        });
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply sqlite_admin::name_sessions(connection& connection, std::map<id128, std::string>& sessions) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    return read_limited(
        c, names_of_sessions, 0, [] {},
        [&](const sqlite_statement& s) {
          const auto found = sessions.find(s.id(0));
          if (found != sessions.end()) found->second = sql::describe_holder(s.text(1), s.integer(2), s.text(3));
        });
  });
}

reply sqlite_admin::row_tables(connection& connection, std::string_view name,
                               std::vector<std::shared_ptr<const row_table>>& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    std::vector<candidate_table> all;
    const auto wanted = base::lower_case(name);
    // Names are compared without their letters' case.
    auto answer = read_limited(
        c, R"(
SELECT m.name, MAX(lower(p.name) = 'lock_expires_at_us'), MAX(lower(p.name) = 'version')
FROM sqlite_master m
JOIN pragma_table_info(m.name) p
WHERE m.type = 'table'
GROUP BY m.name
HAVING MAX(lower(p.name) = 'lock_owner')
ORDER BY m.name
)",
        0, [&] { all.clear(); },
        [&](const sqlite_statement& s) {
          if (!wanted.empty() && base::lower_case(s.text(0)) != wanted) return;
          all.push_back({std::string(s.text(0)), s.integer(1) != 0, s.integer(2) != 0});
        });
    if (answer.result != outcome::yes) return answer;
    if (!wanted.empty() && all.empty()) {
      answer.result = outcome::failed;
      answer.why.text = "SQLite file '" + c.file().settings.path + "': there is no table " + std::string(name) +
                        " with a column lock_owner";
      return answer;
    }
    for (const auto& each : all) {
      auto table = std::make_shared<row_table>(
          sql::make_row_table(sql::quoted_name(each.name, '"'), '"', each.own_expiry, each.version));
      ++answer.statements;
      fault why;
      const auto described = application_.describe(c.odb(), *table, why);
      if (described == outcome::yes) {
        found.push_back(std::move(table));
      } else if (!wanted.empty() || why.connection) {
        answer.result = described;
        answer.why = std::move(why);
        return answer;
      }
    }
    return answer;
  });
}

reply sqlite_admin::held_rows(connection& connection, const std::shared_ptr<const row_table>& table, std::size_t limit,
                              std::vector<held_row>& out) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    const auto columns = static_cast<int>(table->id.size());
    std::int64_t now = 0;
    std::vector<held_row> found;
    auto answer = c.read_once(
        row_holders(*table, c.file().names, limit),
        [&](sqlite_statement&, std::int64_t at) {
          now = at;
          found.clear();
        },
        [&](const sqlite_statement& s) {
          auto info = holder_in_row(s, columns, *table, c.file(), now);
          if (!info) return;
          held_row held;
          for (int i = 0; i != columns; ++i) {
            if (s.is_integer(i)) {
              held.id.emplace_back(s.integer(i));
            } else {
              held.id.emplace_back(std::string(s.text(i)));
            }
          }
          info->key = lock_key::of_row(table, held.id).str();
          held.holder = std::move(*info);
          found.push_back(std::move(held));
        });
    if (answer.result == outcome::yes) std::move(found.begin(), found.end(), std::back_inserter(out));
    return answer;
  });
}

reply sqlite_admin::examine(connection& on, std::vector<store_finding>& out) noexcept {
  return reply_or_in_doubt(on, [&](lease_connection& c) {
    auto answer = examine_file(c, out);
    if (answer.result != outcome::yes) return answer;
    store_overview all;
    answer = overview(on, 0, all);
    if (answer.result != outcome::yes) return answer;
    findings found(out);
    found.good("size", fmt::format("keys: {}, held: {}, sessions: {}", all.keys, all.held,
                                   all.sessions_alive + all.sessions_dead));
    sql::examine_dead_holders(all, found);
    return answer;
  });
}

}  // namespace dlock::stores::sqlite::lease_table
