// SPDX-License-Identifier: BSL-1.0
#include "stores/sql/admin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "dlock/lock_key.hpp"
#include "stores/sql/lease_sql.hpp"
#include "stores/sql/named_sql.hpp"

namespace dlock::stores::sql {

namespace {

/// The held locks; a condition or an order follows. The columns: key, session, fence, microseconds since the grant and
/// until the expiry (negative if it has passed), whether a session keeps the lock, whether that session is revoked and
/// whether it is dead, the session's host, pid and label, and the nonce. A row whose own expiry has passed is free
/// (rule 1).
constexpr const char* held_locks = R"(
SELECT
  l.{lock.lock_key}, l.{lock.session_id}, l.{lock.fence}, {now} - l.{lock.acquired_at_us},
  COALESCE(l.{lock.expires_at_us}, s.{session.expires_at_us}, {now}) - {now},
  l.{lock.expires_at_us} IS NULL,
  COALESCE(l.{lock.expires_at_us} IS NULL AND s.{session.revoked}, 0),
  l.{lock.expires_at_us} IS NULL AND (s.{session.id} IS NULL OR s.{session.expires_at_us} <= {now}{other_boot}),
  COALESCE(s.{session.host}, ''), COALESCE(s.{session.pid}, 0), COALESCE(s.{session.label}, ''), l.{lock.nonce}
FROM {holders}
WHERE l.{lock.session_id} IS NOT NULL
  AND (l.{lock.expires_at_us} IS NULL OR l.{lock.expires_at_us} > {now})
)";

/// The numbers of keys, held keys, keys of dead sessions, grants, live sessions and dead sessions. The sum of the
/// fences grows by one with each grant; a new key's fence begins above the floor.
constexpr const char* counts = R"(
SELECT
  COUNT(*),
  COALESCE(SUM(h.held), 0),
  COALESCE(SUM(h.held AND h.dead), 0),
  COALESCE(SUM({wide_fence} - f.{floor.fence}), 0),
  (SELECT COUNT(*) FROM {session} WHERE {session.expires_at_us} > {now}),
  (SELECT COUNT(*) FROM {session} WHERE {session.expires_at_us} <= {now})
FROM (
  SELECT
    l.{lock.fence} AS fence,
    l.{lock.session_id} IS NOT NULL AND (l.{lock.expires_at_us} IS NULL OR l.{lock.expires_at_us} > {now}) AS held,
    l.{lock.expires_at_us} IS NULL AND (s.{session.id} IS NULL OR s.{session.expires_at_us} <= {now}) AS dead
  FROM {holders}
) h
LEFT JOIN {floor} f ON f.{floor.id} = 1
)";

/// The sessions, those that hold the most first.
constexpr const char* all_sessions = R"(
SELECT
  s.{session.id}, s.{session.host}, s.{session.pid}, s.{session.label}, s.{session.ttl_us},
  {now} - s.{session.started_at_us}, s.{session.expires_at_us} - {now}, s.{session.revoked}, COALESCE(k.locks, 0)
FROM {session} s
LEFT JOIN (
  SELECT l.{lock.session_id} AS session_id, COUNT(*) AS locks
  FROM {lock} l
  WHERE l.{lock.session_id} IS NOT NULL
    AND (l.{lock.expires_at_us} IS NULL OR l.{lock.expires_at_us} > {now})
  GROUP BY l.{lock.session_id}
) k ON k.session_id = s.{session.id}
ORDER BY COALESCE(k.locks, 0) DESC, s.{session.started_at_us}
LIMIT :most
)";

/// The number of free keys, and of those that were not granted for a day.
constexpr const char* free_keys = R"(
SELECT
  COUNT(*),
  IFNULL(SUM(l.{lock.acquired_at_us} + 86400000000 <= {now}), 0)
FROM {lock} l
WHERE l.{lock.session_id} IS NULL
  OR l.{lock.expires_at_us} <= {now}
)";

constexpr const char* read_version = "SELECT version, migration FROM {version} WHERE name='dlock'";

/// Caps the number for a LIMIT, because databases have only signed integers.
std::uint64_t at_most(std::size_t limit) noexcept {
  return std::min<std::uint64_t>(limit, std::numeric_limits<std::int64_t>::max());
}

/// The columns of held_locks.
holder_info holder_in(const sql_row& row) {
  return {.key = std::string(row.text(0)),
          .session = row.id(1),
          .fence = row.natural(2),
          .host = std::string(row.text(8)),
          .pid = row.integer(9),
          .label = std::string(row.text(10)),
          .kind = row.truth(5) ? lease_kind::session : lease_kind::expiring,
          .revoked = row.truth(6),
          .since = row.time(3),  // negative if the wall clock was set back
          .remaining = row.time(4),
          .dead = row.truth(7),
          .lingers = lingers(row.natural(11))};
}

/// Reads the columns of row_sql::holder_of(), which begin at `first`. Returns nothing if the row is free.
std::optional<holder_info> holder_in_row(const sql_row& row, std::size_t first, const row_table& table,
                                         tables_id tables) {
  const auto text = row.text(first);
  const bool kept = row.truth(first + 2);
  const bool expired = row.integer(first + 4) <= 0;
  if (text.empty() || (!kept && expired)) return std::nullopt;
  const auto owner = row_holder::parse(text, tables);
  holder_info info{.session = owner ? owner->session : id128{},
                   .fence = row.natural(first + 1),
                   .host = std::string(row.text(first + 5)),
                   .pid = row.integer(first + 6),
                   .label = owner ? std::string(row.text(first + 7)) : row_holder::describe_foreign(text),
                   .kind = kept ? lease_kind::session : kind_of_expiry(table),
                   .revoked = kept && row.truth(first + 8),
                   .dead = owner && kept && (expired || row.truth(first + 3))};
  // Another program's lock without an expiry never ends, because nothing shows whether that program is alive.
  if (owner || !kept) info.remaining = row.time(first + 4);
  return info;
}

}  // namespace

sql_text lease_admin::text(std::string_view source, const char* doing) const {
  return {in_one_line(names_.expand(source)), doing};
}

reply lease_admin::select_keys(sql_connection& on, std::string_view rest, sql_values values,
                               std::vector<holder_info>& found) {
  sql_rows rows;
  auto answer = on.read(text(std::string(held_locks).append(rest), "list holders"), values, rows);
  std::transform(rows.begin(), rows.end(), std::back_inserter(found), holder_in);
  return answer;
}

reply lease_admin::select_held(sql_connection& on, std::string_view rest, sql_values values,
                               std::vector<holder_info>& found) {
  auto answer = select_keys(on, rest, values, found);
  if (answer.result != outcome::yes) return answer;
  auto members = shared_.name_members(on, found);
  members.statements += answer.statements;
  return members;
}

reply lease_admin::inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept {
  return attempt(connection, "inspect", [&](sql_connection& on) {
    if (key.row == nullptr)
      return select_held(on, "AND l.{lock.lock_key} = :key", {{"key", sql_bytes{key.resource}}}, found);
    sql_rows rows;
    auto answer = on.read({rows_.holder_of(*key.row), "inspect a row"}, rows_.clocks(*key.row->table), rows);
    if (rows.empty()) return answer;
    if (auto info = holder_in_row(rows.front(), 0, *key.row->table, rows_.tables())) found.push_back(std::move(*info));
    return answer;
  });
}

reply lease_admin::list(connection& connection, std::string_view after, std::size_t limit,
                        std::vector<holder_info>& found) noexcept {
  return attempt(connection, "list", [&](sql_connection& on) {
    std::vector<holder_info> made;
    std::string from(after);
    reply answer;
    // Keys that members have left are free, and a page must not end before its limit for them.
    for (bool more = true; more;) {
      std::vector<holder_info> page;
      const auto most = limit - made.size();
      answer = select_keys(on, "AND l.{lock.lock_key} > :after ORDER BY l.{lock.lock_key} LIMIT :most",
                           {{"after", sql_bytes{from}}, {"most", at_most(most)}}, page);
      if (answer.result != outcome::yes) return answer;
      const bool full = page.size() >= most && !page.empty();
      if (full) from = page.back().key;
      answer = shared_.name_members(on, page);
      if (answer.result != outcome::yes) return answer;
      made.insert(made.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
      more = full && made.size() < limit;
    }
    answer = count_waiters(on, made);
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply lease_admin::revoke(connection& connection, const request& key) noexcept {
  return attempt(connection, "revoke", [&](sql_connection& on) -> reply {
    if (fault why; !may_wait(why)) return {.why = std::move(why)};
    if (key.row == nullptr) {
      auto answer = on.change(text(source_of(statement_id::revoke), "revoke"), {{"key", sql_bytes{key.resource}}});
      return answer.result == outcome::no ? shared_.revoke(on, key.resource) : answer;
    }
    return on.change({rows_.revoke(*key.row), "revoke"}, {});
  });
}

reply lease_admin::cleanup(connection& connection, microseconds idle, std::size_t limit) noexcept {
  return attempt(connection, "clean up", [&](sql_connection& on) {
    auto answer = clean_up_.step(on, idle, limit);
    if (answer.result != outcome::yes) return answer;
    auto marks = clean_marks(on, limit);
    if (marks.result != outcome::yes) return marks;
    auto members = shared_.clean(on, idle, limit);
    if (members.result != outcome::yes) return members;
    answer.fence += marks.fence + members.fence;
    answer.more = answer.more || marks.more || members.more;
    return answer;
  });
}

// ---- the lock tables as a whole -------------------------------------------------------------------------------------

reply lease_admin::count(sql_connection& on, store_overview& found, std::uint64_t& left) {
  sql_rows rows;
  auto answer = on.read(text(counts, "count"), {}, rows);
  if (answer.result != outcome::yes) return answer;
  const auto& row = rows.at(0);
  found.keys = row.natural(0);
  found.held = row.natural(1);
  found.held_dead = row.natural(2);
  found.grants = row.integer(3);
  found.sessions_alive = row.natural(4);
  found.sessions_dead = row.natural(5);
  if (found.held == 0) return answer;
  answer = shared_.count_free(on, left);
  found.held -= std::min(found.held, left);
  return answer;
}

reply lease_admin::select_sessions(sql_connection& on, std::size_t limit, std::vector<session_info>& found) const {
  sql_rows rows;
  auto answer = on.read(text(all_sessions, "list sessions"), {{"most", at_most(limit)}}, rows);
  for (const auto& row : rows) {
    found.push_back({.id = row.id(0),
                     .host = std::string(row.text(1)),
                     .pid = row.integer(2),
                     .label = std::string(row.text(3)),
                     .ttl = microseconds{row.integer(4)},
                     .age = row.time(5),
                     .remaining = row.time(6),
                     .revoked = row.truth(7),
                     .dead = row.integer(6) <= 0,
                     .locks = row.natural(8)});
  }
  return answer;
}

reply lease_admin::overview(connection& connection, std::size_t limit, store_overview& found) noexcept {
  return attempt(connection, "overview", [&](sql_connection& on) {
    store_overview made;
    std::uint64_t left = 0;
    auto answer = count(on, made, left);
    if (answer.result == outcome::yes) answer = select_sessions(on, limit, made.sessions);
    if (answer.result != outcome::yes) return answer;
    answer = select_held(on, "ORDER BY l.{lock.acquired_at_us} LIMIT :most", {{"most", at_most(limit + left)}},
                         made.longest);
    if (made.longest.size() > limit) made.longest.resize(limit);
    answer.statements = 4;
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply lease_admin::examine_tables(sql_connection& on, findings& found) const {
  sql_rows rows;
  auto answer = on.read(text(read_version, "examine"), {}, rows);
  if (answer.result != outcome::yes) return answer;
  const auto version = rows.empty() ? "none" : std::to_string(rows[0].natural(0));
  if (rows.empty() || rows[0].truth(1)) {
    found.problem("tables", fmt::format("version {}, a migration was not finished", version),
                  "No program can work with them.", "Start one program with schema=create.");
  } else {
    found.good("tables", "version " + version);
  }
  return answer;
}

reply lease_admin::examine_keys(sql_connection& on, findings& found) {
  store_overview all;
  std::uint64_t left = 0;
  auto answer = count(on, all, left);
  std::string size;
  if (answer.result == outcome::yes) answer = read_size(on, size);
  sql_rows rows;
  if (answer.result == outcome::yes) answer = on.read(text(free_keys, "examine"), {}, rows);
  if (answer.result != outcome::yes) return answer;
  const auto free = rows.at(0).natural(0) + left, old = rows.at(0).natural(1);
  const auto value = fmt::format("keys: {}, held: {}, sessions: {}{}", all.keys, all.held,
                                 all.sessions_alive + all.sessions_dead, size);
  if (old > 0 && old * 2 > all.keys) {
    found.warning("size", value, fmt::format("{} free keys were not granted for a day, so no clean-up runs.", old),
                  "Let one program keep cleanup_interval at its default, or run dlock gc.");
  } else if (free > 100'000) {
    found.note("size", value, fmt::format("{} keys are free and wait for clean-up.", free),
               "Where keys come once and never again, shorten key_retention to an hour.");
  } else {
    found.good("size", value);
  }
  if (all.held_dead == 0 && all.sessions_dead == 0) {
    found.good("dead holders", "none");
  } else {
    found.note(
        "dead holders", fmt::format("keys of dead sessions: {}, dead sessions: {}", all.held_dead, all.sessions_dead),
        "A program that asks for such a key gets it at once. Clean-up deletes the rows.", "dlock gc deletes them now.");
  }
  answer.statements = 4;
  return answer;
}

// ---- tables of the application --------------------------------------------------------------------------------------

row_table lease_admin::make_row_table(const sql_row& from) const {
  const bool own_expiry = from.truth(2);
  const auto quoted = [&](std::string_view name) { return quoted_name(name, rows_.quote()); };
  row_table made;
  made.table = (from.text(0).empty() ? "" : quoted(from.text(0)) + ".") + quoted(from.text(1));
  made.owner = quoted("lock_owner");
  made.expires_at = quoted(own_expiry ? "lock_expires_at_us" : "lock_expire_time");
  made.fence = quoted(own_expiry ? "lock_fence" : "version");
  if (from.truth(3)) made.version = quoted("version");
  made.renewal = own_expiry ? row_renewal::session : row_renewal::column;
  return made;
}

reply lease_admin::row_tables(connection& connection, std::string_view name,
                              std::vector<std::shared_ptr<const row_table>>& found) noexcept {
  return attempt(connection, "find tables", [&](sql_connection& on) {
    auto answer = read_tables_id(on);
    if (answer.result != outcome::yes) return answer;
    sql_rows rows;
    const auto which = tables_with_locks(name);
    answer = on.read({in_one_line(which.sql), "find tables"}, which.values, rows);
    if (answer.result != outcome::yes) return answer;
    if (!name.empty() && rows.empty()) {
      return reply{.why = {.text = fmt::format("table {}: there is no such table with a column lock_owner, or it can't "
                                               "be seen here",
                                               name)}};
    }
    for (const auto& row : rows) {
      auto table = std::make_shared<row_table>(make_row_table(row));
      auto described = describe(on, *table);
      answer.statements += described.statements;
      if (described.result == outcome::yes) {
        found.push_back(std::move(table));
      } else if (!name.empty() || described.why.connection) {
        return described;
      }
    }
    return answer;
  });
}

reply lease_admin::held_rows(connection& connection, const std::shared_ptr<const row_table>& table, std::size_t limit,
                             std::vector<held_row>& found) noexcept {
  return attempt(connection, "list held rows", [&](sql_connection& on) {
    sql_rows rows;
    auto answer = on.read({rows_.holders_in(*table, limit), "list held rows"}, rows_.clocks(*table), rows);
    const auto columns = table->id.size();
    for (const auto& row : rows) {
      auto info = holder_in_row(row, columns, *table, rows_.tables());
      if (!info) continue;
      held_row held;
      for (std::size_t i = 0; i != columns; ++i) held.id.push_back(row.key(i));
      info->key = lock_key::of_row(table, held.id).str();
      held.holder = std::move(*info);
      found.push_back(std::move(held));
    }
    return answer;
  });
}

}  // namespace dlock::stores::sql
