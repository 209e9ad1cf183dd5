// SPDX-License-Identifier: BSL-1.0
// What operators ask: through ODB, because none of it is hot.
#include <fmt/format.h>

#include <algorithm>

#include "held_lock_view-odb-mysql.hxx"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/rows.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "stores/sql/holder_rows.hpp"
#include "stores/sql/scoped_transaction.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

holder_info info_of(const entities::held_lock_view& row) {
  auto info = sql::described(row);
  info.since = std::max(info.since, microseconds{0});  // by a wall clock
  return info;
}

odb::mysql::query_base value_of(std::string_view bytes) {
  using query = odb::mysql::query_base;
  return query(query::_val<odb::mysql::id_blob>(std::vector<char>(bytes.begin(), bytes.end())));
}

reply read_holders(lease_connection& on, odb::mysql::database& database, const odb::mysql::query_base& text,
                   std::vector<holder_info>& out) {
  reply answer;
  if (!on.usable()) {
    answer.why = make_own_fault("the connection was closed", true, true);
    return answer;
  }
  sql::scoped_transaction scope(on.odb());
  std::vector<holder_info> found;
  for (const auto& row : database.query<entities::held_lock_view>(text)) found.push_back(info_of(row));
  scope.commit();
  out = std::move(found);
  answer.result = outcome::yes;
  return answer;
}

}  // namespace

reply mysql_store::query_holders(native& connection, const std::string& condition, std::string_view value,
                                 std::size_t limit, std::vector<holder_info>& out) {
  odb::mysql::query_base text(sql::in_one_line(sql_.names().expand(sql::held_locks + condition)));
  text += value_of(value);
  text += odb::mysql::query_base(sql_.names().expand(fmt::format(" ORDER BY l.{{lock.lock_key}} LIMIT {}", limit)));
  return read_holders(connection, client_.database(), text, out);
}

reply mysql_store::query_longest(native& connection, std::size_t limit, std::vector<holder_info>& out) {
  const auto order = fmt::format("ORDER BY l.{{lock.acquired_at_us}} LIMIT {}", limit);
  return read_holders(connection, client_.database(),
                      odb::mysql::query_base(sql::in_one_line(sql_.names().expand(sql::held_locks + order))), out);
}

reply mysql_store::inspect(connection& connection, const request& key, std::vector<holder_info>& found) noexcept {
  auto& with = static_cast<native&>(connection);
  return reply_or_in_doubt(with, "inspect", [&] {
    if (key.row != nullptr) return find_row_holder(with, row_sql_, *key.row, found);
    return query_holders(with, "AND l.{lock.lock_key}=", key.resource, 1, found);
  });
}

reply mysql_store::list(connection& connection, std::string_view after, std::size_t limit,
                        std::vector<holder_info>& found) noexcept {
  auto& with = static_cast<native&>(connection);
  return reply_or_in_doubt(with, "list", [&] {
    std::vector<holder_info> made;
    auto answer = query_holders(with, "AND l.{lock.lock_key}>", after, limit, made);
    if (answer.result == outcome::yes && settings_.wake) answer = waiters_.bells().count(with, made);
    if (answer.result == outcome::yes) found = std::move(made);
    return answer;
  });
}

reply mysql_store::waiters(connection& connection, std::string_view key, std::size_t limit,
                           waiter_overview& found) noexcept {
  auto& with = static_cast<native&>(connection);
  return reply_or_in_doubt(with, "list waiters", [&] {
    reply answer{.result = outcome::yes};
    found = {};
    if (!knows_waiters(with)) return answer;
    mysql_rows rows;
    answer.result = with.query(sql::write_values(sql_.text(text_id::waiters_of_key), {{"key", mysql_literal(key)}}),
                               "list waiters", &rows, nullptr, answer.why);
    if (answer.result != outcome::yes)
      return waiters_.bells().note_unreadable(answer.why) ? reply{.result = outcome::yes} : answer;
    waiter_overview made{.known = true, .count = rows.size()};
    for (const auto& row : rows) {
      if (made.first.size() == limit) break;
      made.first.push_back({.host = row.at(1).value_or(""),
                            .pid = integer_of(row.at(2)),
                            .label = row.at(3).value_or(""),
                            .waited = microseconds{std::max<std::int64_t>(0, integer_of(row.at(0)))}});
    }
    found = std::move(made);
    return answer;
  });
}

reply mysql_store::revoke(connection& connection, const request& key) noexcept {
  auto& with = static_cast<native&>(connection);
  return reply_or_in_doubt(with, "revoke", [&] {
    const auto text = key.row != nullptr ? row_sql_.revoke(*key.row)
                                         : sql::write_values(sql_.revoke(), {{"key", mysql_literal(key.resource)}});
    return with.change(text, "revoke");
  });
}

}  // namespace dlock::stores::mysql::lease_table
