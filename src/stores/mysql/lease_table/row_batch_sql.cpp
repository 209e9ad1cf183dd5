// SPDX-License-Identifier: BSL-1.0

/// The statements about many rows of one table.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "stores/mysql/lease_table/row_condition.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

bool by_number(const request& of) noexcept {
  return of.row->values.size() == 1 && !std::holds_alternative<std::string>(of.row->values[0]);
}

/// The rows, by their primary keys alone. A text is compared for itself: which values the server takes for the same depends
/// on the column.
std::string any_of(std::span<const request> requests, std::string_view before) {
  std::string text;
  if (std::all_of(requests.begin(), requests.end(), by_number)) {
    for (const auto& each : requests) text += (text.empty() ? "" : ",") + literal_of(*each.row, 0);
    return fmt::format("{}{} IN ({})", before, requests.front().row->table->id.at(0), text);
  }
  // Not (a, b) IN ((1, 2), ...): MariaDB reads the whole index for that.
  for (const auto& each : requests) text += fmt::format("{}({})", text.empty() ? "" : " OR ", where(*each.row, before));
  return "(" + text + ")";
}

/// Of each row the attempt, and for a release or an extension the grant. It names the primary key in each branch, so that the server reads
/// no other row.
std::string any_of_ours(std::span<const request> requests, const row_table& as, std::string_view before,
                        sql::tables_id tables) {
  std::string text;
  for (const auto& each : requests) {
    fmt::format_to(std::back_inserter(text), "{}({} AND {}", text.empty() ? "" : " OR ", where(*each.row, before),
                   ours(as, {each.session, each.nonce, tables}));
    if (each.action != verb::cancel && fence_is_ours(as)) text += fmt::format(" AND {}={}", as.fence, each.fence);
    text += ")";
  }
  return "(" + text + ")";
}

/// "CASE WHEN id=1 THEN … WHEN id=2 THEN … END". What names a row twice gets the first.
template <class Value>
std::string by_row(std::span<const request> requests, std::string_view before, Value value) {
  std::string text = "CASE";
  for (std::size_t i = 0; i != requests.size(); ++i) {
    text += fmt::format(" WHEN {} THEN {}", where(*requests[i].row, before), value(i));
  }
  return text + " END";
}

/// What is changed; `skip`: those rows that this statement itself could lock, so that it waits for nobody. The limit keeps the
/// sub-query a table of its own, which the server reads first. It has a column beside the key: without one the server may read
/// the whole index instead of these rows, and lock rows of others on its way.
std::string rows_of(std::span<const request> requests, const row_table& as, std::string_view before, bool skip) {
  const auto table = as.table + " FORCE INDEX (PRIMARY)";
  if (!skip) return table;
  std::string columns, same;
  for (std::size_t i = 0; i != as.id.size(); ++i) {
    columns += fmt::format("{} AS dlock_unlocked_{}, ", as.id[i], i);
    same += fmt::format("{}{}=dlock_unlocked_{}", i == 0 ? "" : " AND ", as.id[i], i);
  }
  return fmt::format(
      "(SELECT {}{} AS dlock_unlocked_owner FROM {} WHERE {} LIMIT 1000000 FOR UPDATE SKIP LOCKED) dlock_unlocked "
      "STRAIGHT_JOIN {} ON {}",
      columns, as.owner, table, any_of(requests, before), table, same);
}

}  // namespace

// As for one row: each is judged when it is locked, by its own columns alone. What follows tells who was granted what: the
// owner's text names the attempt.
std::string mysql_row_sql::change_all(std::span<const request> requests, bool skip) const {
  const auto& first = requests.front();
  const auto before = qualifier(*first.row->table);
  const auto as = qualified(*first.row->table);
  const auto rows = rows_of(requests, as, before, skip);
  if (first.action == verb::extend) {
    return fmt::format("UPDATE {} SET {}=GREATEST({}, {}) WHERE {} AND {}", rows, as.expires_at, as.expires_at,
                       expiry(as, first.ttl), any_of_ours(requests, as, before, tables()), alive(as));
  }
  if (first.action != verb::take) {
    return fmt::format("UPDATE {} SET {} WHERE {}", rows, freed(as, session_zone::utc),
                       any_of_ours(requests, as, before, tables()));
  }
  const auto owner = by_row(requests, before, [&](std::size_t i) { return "'" + owner_of(requests[i]).text() + "'"; });
  return expand("UPDATE {rows} SET {grant} WHERE {any} AND ({nobody} OR {expired})",
                {{"rows", rows},
                 {"grant", grant(as, owner, expiry(as, own_ttl(first)), false)},
                 {"any", any_of(requests, before)},
                 {"nobody", nobody(as)},
                 {"expired", expired(as)}});
}

std::string mysql_row_sql::read_all(std::span<const request> requests) const {
  const auto& table = *requests.front().row->table;
  return expand(
      "SELECT {number}, {owner}, ({nobody} OR {expired}), {fence} FROM {table} FORCE INDEX (PRIMARY) WHERE {any}",
      {{"number", by_row(requests, "", [](std::size_t i) { return std::to_string(i); })},
       {"owner", table.owner},
       {"nobody", nobody(table)},
       {"expired", expired(table)},
       {"fence", table.fence},
       {"table", table.table},
       {"any", any_of(requests, "")}});
}

}  // namespace dlock::stores::mysql::lease_table
