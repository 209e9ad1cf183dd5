// SPDX-License-Identifier: BSL-1.0

/// What operators ask for.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "base/text.hpp"
#include "dlock/lock_key.hpp"
#include "stores/sql/holder_rows.hpp"
#include "stores/sqlite/lease_table/store.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

/// A statement that may have the parameters :now, :boot and :most.
template <class Begin, class Row>
reply read_limited(lease_connection& c, std::string_view source, std::size_t limit, Begin&& begin, Row&& row) {
  constexpr std::size_t most = std::numeric_limits<std::int64_t>::max();  // SQLite has signed integers only
  return c.read_once(
      sql::in_one_line(c.file().names.expand(source)),
      [&](sqlite_statement& s, std::int64_t now) {
        begin(s);
        s.bind_named(":now", now);
        s.bind_named(":boot", c.file().boot);
        s.bind_named(":most", std::uint64_t{std::min(limit, most)});
      },
      row);
}

/// The held locks that `condition` chooses, which may have the parameters :key and :most, too. Several tries see the
/// same place in `out`.
reply select_held(lease_connection& c, std::string_view condition, std::string_view key, std::size_t limit,
                  std::vector<holder_info>& out) {
  const std::size_t before = out.size();
  return read_limited(
      c, std::string(sql::held_locks).append(condition), limit,
      [&](sqlite_statement& s) {
        out.resize(before);
        s.bind_named_blob(":key", key);
      },
      [&](const sqlite_statement& s) {
        out.push_back({.key = std::string(s.bytes(0)),
                       .session = s.id(1),
                       .fence = static_cast<std::uint64_t>(s.integer(2)),
                       .host = std::string(s.text(8)),
                       .pid = s.integer(9),
                       .label = std::string(s.text(10)),
                       .kind = s.integer(5) != 0 ? lease_kind::session : lease_kind::expiring,
                       .revoked = s.integer(6) != 0,
                       .since = microseconds{s.integer(3)},
                       .remaining = microseconds{std::max<std::int64_t>(0, s.integer(4))},
                       .dead = s.integer(7) != 0});
      });
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

}  // namespace

reply sqlite_admin::inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    if (key.row != nullptr) return find_row_holder(c, *key.row, found);
    return select_held(c, "AND l.{lock.lock_key} = :key", key.resource, 0, found);
  });
}

reply sqlite_admin::list(connection& connection, std::string_view after, std::size_t limit,
                         std::vector<holder_info>& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    const std::string start = after.empty() ? "" : "AND l.{lock.lock_key} > :key\n";
    std::vector<holder_info> made;
    const auto answer = select_held(c, start + "ORDER BY l.{lock.lock_key} LIMIT :most", after, limit, made);
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
      statement_values values{.key = key.resource};
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

}  // namespace

reply sqlite_admin::overview(connection& connection, std::size_t limit, store_overview& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    store_overview made;
    auto answer = read_limited(
        c, sql::counts, limit, [](auto&&) {},
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
        c, sql::sessions, limit, [&](auto&&) { made.sessions.clear(); },
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
    answer = select_held(c, "ORDER BY l.{lock.acquired_at_us} LIMIT :most", {}, limit, made.longest);
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
        c, names_of_sessions, 0, [](auto&&) {},
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
        c, names_of_sessions, 0, [](auto&&) {},
        [&](const sqlite_statement& s) {
          const auto found = sessions.find(s.id(0));
          if (found != sessions.end()) found->second = sql::describe_holder(s.text(1), s.integer(2), s.text(3));
        });
  });
}

reply sqlite_admin::row_tables(connection& connection, std::string_view name,
                               std::vector<std::shared_ptr<const row_table>>& found) noexcept {
  return reply_or_in_doubt(connection, [&](lease_connection& c) {
    std::vector<row_table> all;
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
        0, [&](auto&&) { all.clear(); },
        [&](const sqlite_statement& s) {
          if (!wanted.empty() && base::lower_case(s.text(0)) != wanted) return;
          const auto full = sql::quoted_name(s.text(0), '"');
          all.push_back(sql::make_row_table(full, '"', s.integer(1) != 0, s.integer(2) != 0));
        });
    if (answer.result != outcome::yes) return answer;
    if (!wanted.empty() && all.empty()) {
      answer.result = outcome::failed;
      answer.why.text = "SQLite file '" + c.file().settings.path + "': there is no table " + std::string(name) +
                        " with a column lock_owner";
      return answer;
    }
    for (auto& each : all) {
      auto table = std::make_shared<row_table>(std::move(each));
      ++answer.statements;
      fault why;
      const auto described = describe_table(c.handle(), c.file(), *table, why);
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

}  // namespace dlock::stores::sqlite::lease_table
