// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/lease_table/connection.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace dlock::stores::mysql::lease_table {
namespace {

mysql_field field_of(mysql_value which, mysql_values& from) {
  switch (which) {
    case mysql_value::key: return mysql_field::bytes(from.key);
    case mysql_value::session: return mysql_field::bytes(from.session);
    case mysql_value::holder: return mysql_field::bytes(from.holder);
    case mysql_value::nonce: return mysql_field::number(from.nonce);
    case mysql_value::fence: return mysql_field::number(from.fence);
    case mysql_value::seen_fence: return mysql_field::number(from.seen_fence);
    case mysql_value::own_ttl: return mysql_field::number_or_null(from.own_ttl, from.no_own_ttl);
    case mysql_value::min_hold: return mysql_field::number(from.min_hold);
    case mysql_value::ttl: return mysql_field::number(from.ttl);
    case mysql_value::pid: return mysql_field::number(from.pid);
    case mysql_value::host: return mysql_field::text(from.host);
    case mysql_value::label: return mysql_field::text(from.label);
  }
  throw std::logic_error("dlock: no such parameter");
}

}  // namespace

mysql_statement make_statement(const mysql_hot_text& text, mysql_values& values) {
  std::vector<mysql_field> parameters;
  parameters.reserve(text.count);
  for (std::size_t i = 0; i != text.count; ++i) parameters.push_back(field_of(text.values[i], values));
  return {text.sql, text.name, std::move(parameters)};
}

lease_connection::lease_connection(mysql_opened from, const mysql_sql& sql, mysql_hosts& hosts)
    : mysql_connection(std::move(from), hosts), prefix_(sql.names().prefix()) {
  statements_.reserve(mysql_hot_count);
  for (std::size_t i = 0; i != mysql_hot_count; ++i) {
    statements_.push_back(make_statement(sql.hot(static_cast<mysql_hot>(i), quick()), values_));
  }
}

/// A lock table that is not there, of a service that did not look at its start, or that was dropped since.
void lease_connection::explain(fault& why) const {
  constexpr int no_such_table = 1146;
  if (why.native != no_such_table || why.text.find("." + prefix_) == std::string::npos) return;
  why.text += ": open the store once with schema=create to make the lock tables";
}

outcome lease_connection::look(mysql_look_row& row, fault& why) {
  const std::array<mysql_field, 8> fields{mysql_field::bytes(row.holder),   mysql_field::number(row.fence),
                                          mysql_field::number(row.kept),    mysql_field::number(row.gone),
                                          mysql_field::number(row.left_us), mysql_field::text(row.host),
                                          mysql_field::number(row.pid),     mysql_field::text(row.label)};
  return fetch(statement(mysql_hot::look), fields, why);
}

bool lease_connection::prepare_all(fault& why) {
  return std::all_of(statements_.begin(), statements_.end(), [&](auto& each) { return prepare(each, why); });
}

}  // namespace dlock::stores::mysql::lease_table
