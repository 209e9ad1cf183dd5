// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/shared_table/connection.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "stores/mysql/client/errors.hpp"

namespace dlock::stores::mysql::shared_table {

mysql_field shared_values::field(std::size_t parameter, bool bytes) noexcept {
  switch (parameter) {
    case 0: return bytes ? mysql_field::bytes(key) : mysql_field::text(key);
    case 1: return mysql_field::text(owner);
    case 2: return mysql_field::text(holder);
    case 3: return mysql_field::number(ttl);
    default: return mysql_field::number(fence);
  }
}

std::string text(std::string_view sql, std::initializer_list<sql::named_part> parts) {
  return sql::in_one_line(sql::expand_any(sql, parts));
}

shared_statements statements_of(const scheme_texts& texts, std::initializer_list<sql::named_part> parts) {
  const auto make = [&](const char* name, const char* sql) {
    return sql::find_parameters(name, text(sql, parts), parameter_names, sql::marker::question);
  };
  shared_statements made;
  made.verbs = {make("take", texts.take),           make("insert", texts.insert), make("look", texts.look),
                make("take over", texts.take_over), make("extend", texts.extend), make("release", texts.release),
                make("cancel", texts.release)};
  made.held = text(texts.held, parts);
  made.expired = text(texts.expired, parts);
  made.free_expired = text(texts.free_expired, parts) + " ";
  return made;
}

shared_connection::shared_connection(mysql_opened from, const shared_statements& sql, mysql_hosts& hosts)
    : mysql_connection(std::move(from), hosts) {
  statements_.reserve(sql.verbs.size());
  for (std::size_t i = 0; i != sql.verbs.size(); ++i) {
    const bool quick = static_cast<verb>(i) == verb::take && sql.take_is_quick;
    texts_[i] = std::string(quick ? quick_prefix() : std::string_view{}) + sql.verbs[i].sql;
    std::vector<mysql_field> fields;
    for (const auto parameter : sql.verbs[i].parameters) fields.push_back(values_.field(parameter, sql.key_is_bytes));
    statements_.emplace_back(texts_[i], sql.verbs[i].name, std::move(fields));
  }
  fault why;
  for (const auto& each : sql.at_start) {
    if (query(each, "setting up a connection", nullptr, nullptr, why) != outcome::yes)
      throw std::runtime_error(why.text);
  }
}

reply shared_connection::change(verb action) {
  reply answer;
  mysql_done done;
  answer.result = run(at(action), done, answer.why);
  if (answer.why.native == static_cast<int>(mysql_duplicate_key)) return {.result = outcome::no};
  if (answer.result == outcome::yes && done.rows == 0) answer.result = outcome::no;
  if (answer.result == outcome::yes) answer.fence = done.insert_id;
  return answer;
}

bool shared_connection::prepare_all(fault& why) {
  return std::all_of(statements_.begin(), statements_.end(), [&](auto& each) { return prepare(each, why); });
}

}  // namespace dlock::stores::mysql::shared_table
