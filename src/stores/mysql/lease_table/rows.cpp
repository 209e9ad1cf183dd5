// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/row_owner.hpp"

namespace dlock::stores::mysql::lease_table {
namespace {

reply grant(lease_connection& connection, const mysql_row_sql& sql, const request& request,
            const sql::statement_values& values) {
  reply answer = connection.change(sql::statement_for(request), values, false, request.if_locked);
  if (answer.result == outcome::yes) {
    tell_fence(
        connection, [&] { return sql.fence_of(request); }, answer);
  }
  return answer;
}

}  // namespace

seen seen_in_row(const mysql_row_sql& sql, const row_table& table, const mysql_rows::value_type& row) {
  mysql_polled_row columns;
  const auto fields = columns.fields();
  for (std::size_t i = 0; i != fields.size(); ++i) fields[i].put(row.at(i));
  return columns.shown(table, sql.tables());
}

reply execute_on_row(lease_connection& connection, const mysql_row_sql& sql, const request& request) {
  const auto& row = *request.row;
  if (row.values.empty() || row.values.size() != row.table->id.size()) {
    return refuse(fmt::format("a row of {}: {} values for the {} columns of its primary key", row.table->table,
                              row.values.size(), row.table->id.size()));
  }
  const bool grants = request.action == verb::take || request.action == verb::take_over;
  if (grants && row.table->renewal == row_renewal::column && request.ttl.count() <= 0) {
    return refuse(fmt::format("a row of {}: a lock that its column {} keeps needs an expiry", row.table->table,
                              row.table->expires_at));
  }
  const sql::request_values values(request, sql.tables());
  switch (request.action) {
    case verb::take:
    case verb::take_over: return grant(connection, sql, request, values);
    case verb::poll: return connection.poll(values);
    // Rows are the application's: none is made by being locked.
    case verb::insert: return {.result = outcome::absent};
    // Of what is ours, as with keys: a node that has not seen our grant yet is asked again when it has.
    case verb::extend:
    case verb::release:
    case verb::cancel: return connection.change(sql::statement_for(request), values, true, request.if_locked);
    case verb::pass_on: break;  // of keys alone
  }
  return refuse("no such verb");
}

}  // namespace dlock::stores::mysql::lease_table
