// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/row_batch.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/batch_change.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sql/row_sql.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

/// What a row is after the change, for one request about it.
struct row_now {
  bool there = false;
  bool ours = false;    ///< of that very attempt
  bool nobody = false;  ///< has no owner
  bool free = false;    ///< the same, or its owner's expiry has passed
  std::uint64_t fence = 0;
};

/// One for each request. Of two requests about what the server takes for the same row the second finds none.
outcome read_rows(lease_connection& on, const mysql_row_sql& sql, std::span<const request> requests,
                  std::vector<row_now>& found, fault& why) {
  mysql_rows rows;
  const auto said = on.query(sql.read_all(requests), "read a batch", &rows, nullptr, why);
  if (said != outcome::yes) return said;
  found.resize(requests.size());
  for (const auto& from : rows) {
    const auto which = from.at(0) ? unsigned_of(from[0]) : requests.size();
    if (which >= requests.size()) continue;
    const auto& asked = requests[which];
    const auto text = from.at(1).value_or("");
    const auto asker = sql.owner_of(asked);
    found[which] = {.there = true,
                    .ours = text == asker.text() || text == asker.verified_text(),
                    .nobody = text.empty(),
                    .free = unsigned_of(from.at(2)) != 0,
                    .fence = unsigned_of(from.at(3))};
  }
  return said;
}

void answer_takes(lease_connection& on, std::span<const row_now> rows, std::span<reply> replies,
                  const batch_change& change) {
  std::uint64_t granted = 0;
  for (std::size_t i = 0; i != rows.size(); ++i) {
    replies[i] = {.result = outcome::no};
    if (rows[i].ours) {
      replies[i] = {.result = outcome::yes, .fence = rows[i].fence};
      ++granted;
    } else if (change.skipped && rows[i].free) {
      replies[i] = locked_row();
    }
  }
  if (granted < change.rows) doubt(on, replies);
}

after_free find_out(const request& asked, const row_now& row) {
  const bool by_fence = asked.action == verb::release && sql::has_own_fence(*asked.row->table);
  const bool same = !by_fence || row.fence == asked.fence;
  if (row.ours) return same ? after_free::held : after_free::kept;
  return row.nobody && same ? after_free::free : after_free::gone;
}

void answer_frees(lease_connection& on, std::span<const request> requests, std::span<const row_now> rows,
                  std::span<reply> replies, const batch_change& change) {
  std::vector<after_free> found;
  for (std::size_t i = 0; i != rows.size(); ++i) found.push_back(find_out(requests[i], rows[i]));
  answer_frees(on, requests.front().action, found, replies, change);
}

reply execute_all(lease_connection& on, const mysql_row_sql& sql, std::span<const request> requests,
                  std::span<reply> replies, bool can_skip, bool& refused) {
  const auto action = requests.front().action;
  const bool take = action == verb::take;
  auto change =
      change_rows(on, action, can_skip, requests.size(), [&](bool skip) { return sql.change_all(requests, skip); });
  reply sent{.result = outcome::yes, .statements = change.statements};
  refused = change.said == outcome::failed && !change.why.contended && !change.why.connection && on.usable();
  const bool none = change.rows == 0 && (take || !change.skipped);
  if (action == verb::extend && !refused && on.usable()) {
    // An extension may be repeated, so the rows are asked one by one which of them somebody has locked.
    refused = change.why.contended || (change.said == outcome::yes && change.rows < requests.size());
    if (refused) return sent;
  }
  if (change.said != outcome::yes || none || (!take && change.rows == requests.size())) {
    fill_all(replies, change.said != outcome::yes ? change.said : none ? outcome::no : outcome::yes, change.why);
    return sent;
  }
  ++sent.statements;
  std::vector<row_now> rows;
  if (read_rows(on, sql, requests, rows, change.why) != outcome::yes) {
    unread(on, replies, change.why);
  } else if (take) {
    answer_takes(on, rows, replies, change);
  } else {
    answer_frees(on, requests, rows, replies, change);
  }
  return sent;
}

}  // namespace

bool one_row_statement_can(std::span<const request> requests) noexcept {
  const auto& first = requests.front();
  const bool take = first.action == verb::take;
  const bool extends = first.action == verb::extend;
  const bool frees = first.action == verb::release || first.action == verb::cancel;
  if (first.row == nullptr || (!take && !extends && !frees)) return false;
  const auto& table = *first.row->table;
  if (take && sql::by_column(table) && first.ttl.count() <= 0) return false;
  return std::all_of(requests.begin(), requests.end(), [&](const request& each) {
    return each.row != nullptr && each.row->table == first.row->table && each.action == first.action &&
           each.session == first.session && !each.row->values.empty() && each.row->values.size() == table.id.size() &&
           (frees || (each.kind == first.kind && each.ttl == first.ttl)) && (!extends || each.no_wait) &&
           each.min_hold.count() <= 0;
  });
}

bool execute_rows_in_one(lease_connection& on, const mysql_row_sql& sql, std::span<const request> requests,
                         std::span<reply> replies, bool can_skip) noexcept {
  bool refused = false;
  answer_all(on, replies, [&] { return execute_all(on, sql, requests, replies, can_skip, refused); });
  return !refused;
}

}  // namespace dlock::stores::mysql::lease_table
