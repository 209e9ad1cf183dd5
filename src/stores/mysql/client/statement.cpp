// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/statement.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {

mysql_field mysql_field::null() noexcept {
  // The client library only reads them.
  static std::int64_t nothing = 0;
  static mysql_bool yes = 1;
  return number_or_null(nothing, yes);
}

void mysql_field::bind(MYSQL_BIND& to) const noexcept {
  const bool number = type_ == type::integer || type_ == type::natural;
  to.buffer_type = number ? MYSQL_TYPE_LONGLONG : type_ == type::bytes ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
  to.buffer = at_;
  to.is_unsigned = type_ == type::natural;
  if (null_ != nullptr) to.is_null = null_;
  if (number) return;
  to.buffer_length = room_;
  if (size_ != nullptr) to.length = size_;  // otherwise it is the whole size
}

std::string mysql_field::literal() const {
  if (null_ != nullptr && *null_) return "NULL";
  switch (type_) {
    case type::integer: return std::to_string(*static_cast<const std::int64_t*>(at_));
    case type::natural: return std::to_string(*static_cast<const std::uint64_t*>(at_));
    case type::bytes: return mysql_literal(view());
    case type::text: return mysql_text_literal(view());
  }
  return "NULL";
}

void mysql_field::put(const std::optional<std::string>& value) const {
  if (null_ != nullptr && !value) *null_ = 1;
  const std::string text = value.value_or("");
  switch (type_) {
    case type::integer: *static_cast<std::int64_t*>(at_) = std::strtoll(text.c_str(), nullptr, 10); return;
    case type::natural: *static_cast<std::uint64_t*>(at_) = std::strtoull(text.c_str(), nullptr, 10); return;
    case type::bytes:
    case type::text: *size_ = static_cast<unsigned long>(text.copy(static_cast<char*>(at_), room_)); return;
  }
}

mysql_statement::mysql_statement(const std::string& sql, const char* name, std::vector<mysql_field> parameters)
    : sql_(sql), name_(name), parameters_(std::move(parameters)) {
  if (parameters_.size() > most_fields) throw std::length_error(fmt::format("dlock: {}: too many parameters", name));
}

mysql_statement::mysql_statement(mysql_statement&& from) noexcept
    : sql_(from.sql_),
      name_(from.name_),
      parameters_(std::move(from.parameters_)),
      native_(std::exchange(from.native_, nullptr)),
      bound_(from.bound_),
      as_text_(from.as_text_),
      waits_for_table_(from.waits_for_table_) {}

mysql_statement::~mysql_statement() {
  if (native_ != nullptr) mysql_stmt_close(native_);
}

void mysql_statement::parameters(std::span<const mysql_field> from) {
  if (from.size() > most_fields) throw std::length_error(fmt::format("dlock: {}: too many parameters", name_));
  parameters_.assign(from.begin(), from.end());
  bound_ = false;
}

bool mysql_statement::bind(fault& why) {
  std::array<MYSQL_BIND, most_fields> binds{};
  for (std::size_t i = 0; i != parameters_.size(); ++i) parameters_[i].bind(binds[i]);
  bound_ = mysql_stmt_bind_param(native_, binds.data()) == 0;
  if (!bound_) why = fault_now();
  return bound_;
}

bool mysql_statement::prepare(MYSQL* handle, fault& why) {
  native_ = mysql_stmt_init(handle);
  if (native_ == nullptr) {
    why = make_own_fault(fmt::format("{}: out of memory", name_), true);
    return false;
  }
  if (mysql_stmt_prepare(native_, sql_.data(), static_cast<unsigned long>(sql_.size())) != 0) {
    why = fault_now();
  } else if (bind(why)) {
    return true;
  }
  mysql_stmt_close(std::exchange(native_, nullptr));
  return false;
}

fault mysql_statement::fault_now() const {
  return make_mysql_fault(mysql_stmt_errno(native_), mysql_stmt_sqlstate(native_), mysql_stmt_error(native_), name_);
}

outcome mysql_statement::execute(fault& why) {
  if (!bound_ && !bind(why)) return outcome::failed;
  if (mysql_stmt_execute(native_) == 0) return outcome::yes;
  why = fault_now();
  return outcome_of_mysql_error(mysql_stmt_errno(native_));
}

#if defined(MARIADB_PACKAGE_VERSION_ID) && MARIADB_PACKAGE_VERSION_ID >= 30300
const bool mysql_statement::in_two_steps = true;

bool mysql_statement::send(fault& why) {
  if (!bound_ && !bind(why)) return false;
  MYSQL* const handle = native_->mysql;
  mysql_bool skips = 1;
  if (handle != nullptr) mysql_optionsv(handle, MARIADB_OPT_SKIP_READ_RESPONSE, &skips);
  const bool sent = mysql_stmt_execute(native_) == 0;
  if (!sent) why = fault_now();
  skips = 0;
  if (handle != nullptr) mysql_optionsv(handle, MARIADB_OPT_SKIP_READ_RESPONSE, &skips);
  return sent;
}

outcome mysql_statement::receive(fault& why) {
  if (native_->mysql->methods->db_read_execute_response(native_) == 0) return outcome::yes;
  why = fault_now();
  return outcome_of_mysql_error(static_cast<unsigned>(why.native));
}
#else
const bool mysql_statement::in_two_steps = false;
bool mysql_statement::send(fault&) { return false; }
outcome mysql_statement::receive(fault&) { return outcome::unknown; }
#endif

mysql_done mysql_statement::done() const noexcept {
  return {mysql_stmt_affected_rows(native_), mysql_stmt_insert_id(native_)};
}

std::size_t mysql_statement::columns() const noexcept { return mysql_stmt_field_count(native_); }

outcome mysql_statement::fetch(std::span<const mysql_field> columns, fault& why) {
  std::array<MYSQL_BIND, most_fields> binds{};
  std::array<mysql_bool, most_fields> nulls{};
  for (std::size_t i = 0; i != columns.size(); ++i) {
    columns[i].bind(binds.at(i));
    binds[i].is_null = &nulls[i];
  }
  if (mysql_stmt_bind_result(native_, binds.data()) != 0 || mysql_stmt_store_result(native_) != 0) {
    why = fault_now();
    return outcome::failed;
  }
  const int fetched = mysql_stmt_fetch(native_);
  if (fetched == 1) why = fault_now();
  mysql_stmt_free_result(native_);
  if (fetched == 1) return outcome::failed;
  if (fetched == MYSQL_NO_DATA) return outcome::absent;
  for (std::size_t i = 0; i != columns.size(); ++i) {
    nulls[i] ? columns[i].put(std::nullopt) : columns[i].cut();
  }
  return outcome::yes;
}

std::string mysql_statement::written_out() const {
  std::string sql;
  sql.reserve(sql_.size() * 2);
  auto parameter = parameters_.begin();
  char quote = 0;  // the quotation mark of the text that it is in; a name may contain a question mark
  for (const char c : sql_) {
    if (c == '?' && quote == 0) {
      sql.append((parameter++)->literal());
      continue;
    }
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"' || c == '`')) {
      quote = c;
    }
    sql.push_back(c);
  }
  return sql;
}

}  // namespace dlock::stores::mysql
