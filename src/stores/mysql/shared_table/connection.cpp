// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/shared_table/connection.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "stores/sql/lock_statements.hpp"

namespace dlock::stores::mysql::shared_table {

mysql_field shared_values::field(std::size_t parameter, bool bytes) noexcept {
  switch (parameter) {
    case 0: return bytes ? mysql_field::bytes(key) : mysql_field::text(key);
    case 1: return mysql_field::text(owner);
    case 2: return mysql_field::text(holder);
    case 3: return mysql_field::number(ttl);
    case 4: return mysql_field::number(fence);
    default: return mysql_field::number(until);
  }
}

sql::statement_text statement_of(const char* name, std::string_view sql, const sql::dictionary& words) {
  return sql::find_parameters(name, words.fill(sql), parameter_names, sql::marker::question);
}

scheme_sql sql_of(const sql::dictionary& words, const layout& table, const column& key, microseconds unit) {
  const auto statement = [&](sql::lock_statement which) {
    const auto& source = sql::template_of(which);
    return statement_of(source.name, source.sql, words);
  };
  using enum sql::lock_statement;
  scheme_sql made;
  made.verbs = {statement(take),   statement(insert),  statement(poll),  statement(take_over),
                statement(extend), statement(release), statement(cancel)};
  made.held = words.fill("SELECT {key}, {holder} FROM {table} WHERE {held}");
  made.taken = words.fill("{taken}");
  if (words.knows("expired")) {
    made.expired = words.fill("SELECT {id} FROM {table} WHERE {expired}");
    made.free_expired = words.fill("{free_row} WHERE {expired} AND {id} =") + " ";
  }
  made.table = table.table();
  made.key = key;
  made.primary = table.primary();
  made.unit = unit;
  return made;
}

shared_connection::shared_connection(mysql_opened from, const scheme_sql& sql, mysql_hosts& hosts)
    : mysql_connection(std::move(from), hosts), verbs_(sql.verbs.size()) {
  texts_.reserve(verbs_ + sql.others.size());
  statements_.reserve(texts_.capacity());
  const bool bytes = sql.key.type == column_type::bytes;
  const auto add = [&](const sql::statement_text& statement) {
    // Another process that inserts the same new key may have it locked for a moment. A take that begins with an INSERT
    // polls then.
    const bool waits = statement.sql.starts_with("INSERT") && !sql.inserts_first;
    const bool plain = waits || statement.sql.starts_with("SELECT");
    texts_.push_back(std::string(plain ? std::string_view() : quick_prefix()) + statement.sql);
    std::vector<mysql_field> fields;
    for (const auto parameter : statement.parameters) fields.push_back(values_.field(parameter, bytes));
    statements_.emplace_back(texts_.back(), statement.name, std::move(fields));
  };
  for (const auto& each : sql.verbs) add(each);
  for (const auto& each : sql.others) add(each);
  fault why;
  for (const auto& each : sql.at_start) {
    if (query(each, "setting up a connection", nullptr, nullptr, why) != outcome::yes)
      throw std::runtime_error(why.text);
  }
}

bool shared_connection::prepare_all(fault& why) {
  return std::all_of(statements_.begin(), statements_.end(), [&](auto& each) { return prepare(each, why); });
}

}  // namespace dlock::stores::mysql::shared_table
