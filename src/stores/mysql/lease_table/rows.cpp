// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/lease_table/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>

#include "dlock/lock_key.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/sql/holder_rows.hpp"
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

namespace {

/// Whom the columns of mysql_row_sql::poll() show. Nothing: nobody holds the row.
std::optional<holder_info> holder_in_row(const mysql_row_sql& sql, const row_table& table,
                                         const mysql_rows::value_type& row) {
  const auto now = seen_in_row(sql, table, row);
  const bool kept = now.kind == lease_kind::session;
  if (!now.holder || (!kept && now.expired)) return std::nullopt;
  const bool theirs = now.holder == sql::foreign_owner;
  holder_info info{.session = theirs ? id128{} : now.holder, .fence = now.fence, .kind = now.kind};
  info.host = row.at(5).value_or("");
  info.pid = integer_of(row.at(6));
  info.label = theirs ? now.who : row.at(7).value_or("");
  info.revoked = kept && integer_of(row.at(8)) != 0;
  info.dead = !theirs && kept && (now.gone || now.expired);
  if (!theirs || !kept) info.remaining = now.remaining;
  return info;
}

/// A value of the primary key as the server writes it. A column that holds no text holds a number. `column`: null, if
/// nothing is known of it.
row_value id_value(const std::string& text, const text_column* column) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == text.npos;
  if (column == nullptr ? !digits : !column->charset.empty()) return text;
  if (text.starts_with('-')) return static_cast<std::int64_t>(std::strtoll(text.c_str(), nullptr, 10));
  const auto number = std::strtoull(text.c_str(), nullptr, 10);
  if (number <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(number);
  return static_cast<std::uint64_t>(number);
}

}  // namespace

reply find_row_holder(lease_connection& connection, const mysql_row_sql& sql, const row_id& row,
                      std::vector<holder_info>& out) {
  mysql_rows rows;
  request about;
  about.row = &row;
  auto answer = connection.read(sql.poll(about), "poll a row", &rows);
  if (answer.result != outcome::yes || rows.empty()) return answer;
  if (auto info = holder_in_row(sql, *row.table, rows.front())) out.push_back(std::move(*info));
  return answer;
}

reply find_held_rows(lease_connection& connection, const mysql_row_sql& sql,
                     const std::shared_ptr<const row_table>& table, std::size_t limit, std::vector<held_row>& out) {
  mysql_rows rows;
  auto answer = connection.read(sql.held(*table, limit), "list held rows", &rows);
  if (answer.result != outcome::yes) return answer;
  const auto columns = static_cast<std::ptrdiff_t>(table->id.size());
  for (const auto& row : rows) {
    auto info = holder_in_row(sql, *table, {row.begin() + columns, row.end()});
    if (!info) continue;
    held_row held;
    for (std::size_t i = 0; i != table->id.size(); ++i) {
      held.id.push_back(id_value(row[i].value_or(""), i < table->id_text.size() ? &table->id_text[i] : nullptr));
    }
    info->key = lock_key::of_row(table, held.id).str();
    held.holder = std::move(*info);
    out.push_back(std::move(held));
  }
  return answer;
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
