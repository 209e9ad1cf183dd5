// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/mysql/client/statement.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/native.hpp"

namespace dlock::detail {
namespace {

template <std::size_t Size>
void bind_bytes(MYSQL_BIND& to, mysql_bytes<Size>& from, enum_field_types type) {
  to.buffer_type = type;
  to.buffer = from.bytes.data();
  to.buffer_length = Size;
  to.length = &from.size;
}

void bind_number(MYSQL_BIND& to, std::int64_t& from) {
  to.buffer_type = MYSQL_TYPE_LONGLONG;
  to.buffer = &from;
}

void bind_number(MYSQL_BIND& to, std::uint64_t& from) {
  to.buffer_type = MYSQL_TYPE_LONGLONG;
  to.buffer = &from;
  to.is_unsigned = true;
}

void bind_value(MYSQL_BIND& to, mysql_value which, mysql_values& from) {
  switch (which) {
    case mysql_value::key: return bind_bytes(to, from.key, MYSQL_TYPE_BLOB);
    case mysql_value::session: return bind_bytes(to, from.session, MYSQL_TYPE_BLOB);
    case mysql_value::holder: return bind_bytes(to, from.holder, MYSQL_TYPE_BLOB);
    case mysql_value::nonce: return bind_number(to, from.nonce);
    case mysql_value::fence: return bind_number(to, from.fence);
    case mysql_value::seen_fence: return bind_number(to, from.seen_fence);
    case mysql_value::own_ttl:
      bind_number(to, from.own_ttl);
      to.is_null = &from.no_own_ttl;
      return;
    case mysql_value::min_hold: return bind_number(to, from.min_hold);
    case mysql_value::ttl: return bind_number(to, from.ttl);
    case mysql_value::pid: return bind_number(to, from.pid);
    case mysql_value::host: return bind_bytes(to, from.host, MYSQL_TYPE_STRING);
    case mysql_value::label: return bind_bytes(to, from.label, MYSQL_TYPE_STRING);
  }
}

std::string literal_of(mysql_value which, const mysql_values& from) {
  switch (which) {
    case mysql_value::key: return mysql_literal(from.key.view());
    case mysql_value::session: return mysql_literal(from.session.view());
    case mysql_value::holder: return mysql_literal(from.holder.view());
    case mysql_value::nonce: return std::to_string(from.nonce);
    case mysql_value::fence: return std::to_string(from.fence);
    case mysql_value::seen_fence: return std::to_string(from.seen_fence);
    case mysql_value::own_ttl: return from.no_own_ttl ? "NULL" : std::to_string(from.own_ttl);
    case mysql_value::min_hold: return std::to_string(from.min_hold);
    case mysql_value::ttl: return std::to_string(from.ttl);
    case mysql_value::pid: return std::to_string(from.pid);
    case mysql_value::host: return "_utf8mb4 " + mysql_literal(from.host.view());
    case mysql_value::label: return "_utf8mb4 " + mysql_literal(from.label.view());
  }
  return "NULL";
}

}  // namespace

std::string written_out(const mysql_hot_text& text, const mysql_values& values) {
  std::string made;
  std::string_view rest = text.sql;  // with no question mark but those of the parameters
  for (std::size_t i = 0; i != text.count; ++i) {
    const auto mark = rest.find('?');
    made.append(rest.substr(0, mark)).append(literal_of(text.values[i], values));
    rest.remove_prefix(mark + 1);
  }
  return made.append(rest);
}

void take_look_row(mysql_look_row& to, const std::vector<std::optional<std::string>>& from) {
  const auto number = [&](std::size_t at) { return std::strtoll(from.at(at).value_or("0").c_str(), nullptr, 10); };
  to.holder.assign(from.at(0).value_or(""));
  to.fence = std::strtoull(from.at(1).value_or("0").c_str(), nullptr, 10);
  to.kept = number(2);
  to.gone = number(3);
  to.left_us = number(4);
  to.host.assign(from.at(5).value_or(""));
  to.pid = number(6);
  to.label.assign(from.at(7).value_or(""));
}

std::unique_ptr<mysql_statement> mysql_statement::prepare(MYSQL* handle, const mysql_hot_text& text,
                                                          mysql_values& values, fault& why) {
  MYSQL_STMT* const native = mysql_stmt_init(handle);
  if (native == nullptr) {
    why = make_own_fault(fmt::format("{}: out of memory", text.name), true);
    return nullptr;
  }
  std::unique_ptr<mysql_statement> made(new mysql_statement(native, text));
  if (mysql_stmt_prepare(native, text.sql.data(), static_cast<unsigned long>(text.sql.size())) != 0 ||
      !made->bind(values)) {
    why = made->fault_now();
    return nullptr;
  }
  return made;
}

mysql_statement::~mysql_statement() { mysql_stmt_close(native_); }

bool mysql_statement::bind(mysql_values& values) {
  std::array<MYSQL_BIND, std::tuple_size_v<decltype(text_.values)>> binds{};
  for (std::size_t i = 0; i != text_.count; ++i) {
    bind_value(binds[i], text_.values[i], values);
  }
  return mysql_stmt_bind_param(native_, binds.data()) == 0;
}

fault mysql_statement::fault_now() const {
  return make_mysql_fault(mysql_stmt_errno(native_), mysql_stmt_sqlstate(native_), mysql_stmt_error(native_),
                          text_.name);
}

outcome mysql_statement::execute(fault& why) {
  if (mysql_stmt_execute(native_) == 0) return outcome::yes;
  why = fault_now();
  return outcome_of_mysql_error(mysql_stmt_errno(native_));
}

mysql_done mysql_statement::done() const noexcept {
  return {mysql_stmt_affected_rows(native_), mysql_stmt_insert_id(native_)};
}

outcome mysql_statement::fetch(mysql_look_row& row, fault& why) {
  std::array<MYSQL_BIND, 8> binds{};
  std::array<mysql_bool, 8> nulls{};
  bind_bytes(binds[0], row.holder, MYSQL_TYPE_BLOB);
  bind_number(binds[1], row.fence);
  bind_number(binds[2], row.kept);
  bind_number(binds[3], row.gone);
  bind_number(binds[4], row.left_us);
  bind_bytes(binds[5], row.host, MYSQL_TYPE_STRING);
  bind_number(binds[6], row.pid);
  bind_bytes(binds[7], row.label, MYSQL_TYPE_STRING);
  for (std::size_t i = 0; i != binds.size(); ++i) binds[i].is_null = &nulls[i];
  if (mysql_stmt_bind_result(native_, binds.data()) != 0 || mysql_stmt_store_result(native_) != 0) {
    why = fault_now();
    return outcome::failed;
  }
  const int fetched = mysql_stmt_fetch(native_);
  if (fetched == 1) why = fault_now();
  mysql_stmt_free_result(native_);
  if (fetched == 1) return outcome::failed;
  if (fetched == MYSQL_NO_DATA) return outcome::absent;
  if (nulls[0]) row.holder.size = 0;
  if (nulls[4]) row.left_us = 0;
  if (nulls[5]) row.host.size = 0;
  if (nulls[7]) row.label.size = 0;
  return outcome::yes;
}

}  // namespace dlock::detail
