// SPDX-License-Identifier: GPL-2.0-or-later
#include "mysql_database.hpp"

#include <fmt/format.h>
#include <mysql.h>

#include <array>
#include <cstring>

namespace flash_sale {
namespace {

using flag = std::remove_pointer_t<decltype(MYSQL_BIND::is_null)>;  // my_bool or bool, as the client library likes

MYSQL_BIND bind(const value& parameter) {
  MYSQL_BIND out{};
  if (const auto* const text = std::get_if<std::string>(&parameter)) {
    out.buffer_type = MYSQL_TYPE_STRING;
    out.buffer = const_cast<char*>(text->data());
    out.buffer_length = static_cast<unsigned long>(text->size());
  } else {
    out.buffer_type = MYSQL_TYPE_LONGLONG;
    out.buffer = const_cast<std::int64_t*>(&std::get<std::int64_t>(parameter));
  }
  return out;
}

}  // namespace

void mysql_database::closer::operator()(MYSQL* handle) const noexcept { mysql_close(handle); }
void mysql_database::closer::operator()(MYSQL_STMT* statement) const noexcept { mysql_stmt_close(statement); }

mysql_database::mysql_database(const dlock::store_url& url) : name_(url.redacted()), handle_(mysql_init(nullptr)) {
  const auto host = url.hosts.empty() ? dlock::store_url::endpoint{} : url.hosts.front();
  const auto socket = url.params.find("socket");
  mysql_options(handle_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const unsigned int seconds = 10;
  mysql_options(handle_.get(), MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  if (mysql_real_connect(handle_.get(), host.host.empty() ? nullptr : host.host.c_str(), url.user.c_str(),
                         url.password.c_str(), url.path.c_str(), host.port,
                         socket == url.params.end() ? nullptr : socket->second.c_str(), CLIENT_FOUND_ROWS) == nullptr) {
    fail("connecting");
  }
}

void mysql_database::fail(std::string_view doing) const {
  throw database_error(fmt::format("{}: {}: {}", name_, doing, mysql_error(handle_.get())));
}

void mysql_database::fail(std::string_view doing, MYSQL_STMT* statement) const {
  throw database_error(fmt::format("{}: {}: {}", name_, doing, mysql_stmt_error(statement)));
}

MYSQL_STMT* mysql_database::run(std::string_view sql, const std::vector<value>& parameters) {
  auto known = statements_.find(sql);
  if (known == statements_.end()) {
    std::unique_ptr<MYSQL_STMT, closer> made(mysql_stmt_init(handle_.get()));
    if (made == nullptr) fail(sql);
    if (mysql_stmt_prepare(made.get(), sql.data(), static_cast<unsigned long>(sql.size())) != 0) {
      fail(sql, made.get());
    }
    known = statements_.try_emplace(std::string(sql), std::move(made)).first;
  }
  auto* const statement = known->second.get();
  std::vector<MYSQL_BIND> binds;
  binds.reserve(parameters.size());
  for (const auto& parameter : parameters) binds.push_back(bind(parameter));
  if (!binds.empty() && mysql_stmt_bind_param(statement, binds.data()) != 0) fail(sql, statement);
  if (mysql_stmt_execute(statement) != 0) fail(sql, statement);
  return statement;
}

std::vector<row> mysql_database::query(std::string_view sql, const std::vector<value>& parameters) {
  auto* const statement = run(sql, parameters);
  const std::unique_ptr<MYSQL_STMT, flag (*)(MYSQL_STMT*)> free_at_end(statement, mysql_stmt_free_result);
  struct column {
    std::array<char, 256> text;  // wider than every column of the shop
    unsigned long size;
    flag null;
  };
  std::vector<column> columns(mysql_stmt_field_count(statement));
  std::vector<MYSQL_BIND> binds(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].buffer = columns[i].text.data();
    binds[i].buffer_length = static_cast<unsigned long>(columns[i].text.size());
    binds[i].length = &columns[i].size;
    binds[i].is_null = &columns[i].null;
  }
  if (mysql_stmt_bind_result(statement, binds.data()) != 0 || mysql_stmt_store_result(statement) != 0) {
    fail(sql, statement);
  }
  std::vector<row> rows;
  int code = 0;
  while ((code = mysql_stmt_fetch(statement)) == 0) {
    auto& fields = rows.emplace_back();
    for (const auto& c : columns) {
      fields.emplace_back(c.null ? std::string() : std::string(c.text.data(), c.size));
    }
  }
  if (code == MYSQL_DATA_TRUNCATED) throw database_error(fmt::format("{}: {}: a column is too wide", name_, sql));
  if (code != MYSQL_NO_DATA) fail(sql, statement);
  return rows;
}

std::uint64_t mysql_database::execute(std::string_view sql, const std::vector<value>& parameters) {
  return mysql_stmt_affected_rows(run(sql, parameters));
}

void mysql_database::command(const char* sql) {
  if (mysql_query(handle_.get(), sql) != 0) fail(sql);
}

void mysql_database::begin() { command("START TRANSACTION"); }
void mysql_database::commit() { command("COMMIT"); }

void mysql_database::rollback() noexcept { mysql_rollback(handle_.get()); }

}  // namespace flash_sale
