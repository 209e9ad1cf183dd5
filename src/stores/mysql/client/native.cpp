// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/native.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include "base/signals.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/io_bound.hpp"
#include "stores/mysql/client/login.hpp"
#include "stores/mysql/client/sigpipe.hpp"

namespace dlock::stores::mysql {

namespace {

/// Rounds up to the client library's whole seconds, where 0 means no limit.
unsigned whole_seconds(std::chrono::microseconds time) {
  using namespace std::chrono;
  return static_cast<unsigned>(std::max<seconds::rep>(1, ceil<seconds>(time).count()));
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

#ifdef MARIADB_PACKAGE_VERSION
void set_tls(MYSQL* handle, const mysql_settings& settings) {
  // "enforce" without verification silently falls back to plain text, so the cipher is checked afterwards.
  const mysql_bool enforce = settings.tls != tls_mode::off;
  const mysql_bool verify = settings.tls == tls_mode::verify;
  mysql_optionsv(handle, MYSQL_OPT_SSL_ENFORCE, &enforce);
  mysql_optionsv(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}
#else
void set_tls(MYSQL* handle, const mysql_settings& settings) {
  unsigned mode = SSL_MODE_PREFERRED;
  if (settings.tls == tls_mode::off) mode = SSL_MODE_DISABLED;
  if (settings.tls == tls_mode::require) mode = SSL_MODE_REQUIRED;
  if (settings.tls == tls_mode::verify) mode = SSL_MODE_VERIFY_IDENTITY;
  mysql_options(handle, MYSQL_OPT_SSL_MODE, &mode);
  // Without TLS, caching_sha2_password encrypts the password with the server's key. MariaDB's library asks for the key
  // by itself.
  const mysql_bool ask = true;
  mysql_options(handle, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &ask);
}
#endif

enum class user_of { dlock, application };

void set_options(MYSQL* handle, const mysql_settings& settings, microseconds limit, user_of by) {
  const unsigned connect = whole_seconds(limit);
  const unsigned statement = whole_seconds(settings.statement_timeout);
  mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &connect);
  if (by == user_of::dlock) {
    mysql_options(handle, MYSQL_OPT_READ_TIMEOUT, &statement);
    mysql_options(handle, MYSQL_OPT_WRITE_TIMEOUT, &statement);
  }
  mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const unsigned protocol = settings.socket.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  mysql_options(handle, MYSQL_OPT_PROTOCOL, &protocol);
  // Otherwise a forged server could ask for any file that this process can read.
  const unsigned files = 0;
  mysql_options(handle, MYSQL_OPT_LOCAL_INFILE, &files);
  mysql_io_bound::apply(handle);
  set_tls(handle, settings);
  if (!settings.tls_ca.empty()) mysql_options(handle, MYSQL_OPT_SSL_CA, settings.tls_ca.c_str());
  if (!settings.tls_cert.empty()) mysql_options(handle, MYSQL_OPT_SSL_CERT, settings.tls_cert.c_str());
  if (!settings.tls_key.empty()) mysql_options(handle, MYSQL_OPT_SSL_KEY, settings.tls_key.c_str());
}

fault fault_of(MYSQL* handle, std::string_view doing) {
  return make_mysql_fault(mysql_errno(handle), mysql_sqlstate(handle), mysql_error(handle), doing);
}

/// Calls row(values, lengths, columns) for each row.
template <class Row>
bool read_each(MYSQL* handle, std::string_view doing, fault& why, Row&& row) {
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_store_result(handle), mysql_free_result);
  if (!result) {
    if (mysql_errno(handle) == 0) return true;
    why = fault_of(handle, doing);
    return false;
  }
  const std::span columns(mysql_fetch_fields(result.get()), mysql_num_fields(result.get()));
  while (MYSQL_ROW values = mysql_fetch_row(result.get())) row(values, mysql_fetch_lengths(result.get()), columns);
  return true;
}

bool read_rows(MYSQL* handle, std::string_view doing, mysql_rows* rows, fault& why) {
  return read_each(handle, doing, why, [&](MYSQL_ROW row, const unsigned long* lengths, const auto& columns) {
    if (rows == nullptr) return;
    auto& added = rows->emplace_back(columns.size());
    for (std::size_t i = 0; i != columns.size(); ++i) {
      if (row[i] != nullptr) added[i] = std::string(row[i], lengths[i]);
    }
  });
}

bool is_integer(const MYSQL_FIELD& column) noexcept {
  switch (column.type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR: return true;
    default: return false;
  }
}

sql::sql_row::cell cell_of(const char* value, unsigned long length, const MYSQL_FIELD& column) {
  if (value == nullptr) return std::monostate{};
  if (!is_integer(column)) return std::string(value, length);
  if ((column.flags & UNSIGNED_FLAG) != 0) return std::uint64_t{std::strtoull(value, nullptr, 10)};
  return std::int64_t{std::strtoll(value, nullptr, 10)};
}

mysql_handle log_in(const mysql_settings& settings, const mysql_login& login, const store_url::endpoint& host,
                    microseconds limit, user_of by, fault& why) {
  const auto doing = fmt::format("dlock: {}: connecting to {}", settings.name, settings.where(host));
  mysql_handle handle(mysql_init(nullptr));
  if (!handle) {
    why = make_own_fault(fmt::format("{}: out of memory", doing), true, true);
    return nullptr;
  }
  set_options(handle.get(), settings, limit, by);
  std::optional<base::no_sigpipe> guard;
  if (settings.tls != tls_mode::off) guard.emplace();
  // CLIENT_FOUND_ROWS counts rows that matched, changed or not. ODB needs it as well.
  if (mysql_real_connect(handle.get(), or_null(host.host), or_null(login.user), login.password.c_str(),
                         settings.database.c_str(), host.port, or_null(settings.socket),
                         CLIENT_FOUND_ROWS) == nullptr) {
    why = fault_of(handle.get(), doing);
    why.connection = true;
    why.full = why.native == 1040 || why.native == 1203 || why.native == 1226;
    if (why.native == CR_SSL_CONNECTION_ERROR) why.transient = tls_may_succeed_later(mysql_error(handle.get()));
    return nullptr;
  }
  // A program that another thread starts before this gets the socket; mysql_io_bound keeps that time short.
  ::fcntl(mysql_socket(handle.get()), F_SETFD, FD_CLOEXEC);
  const bool encrypted = mysql_get_ssl_cipher(handle.get()) != nullptr;
  if (encrypted) keep_sigpipe_from(handle.get());
  const bool must_encrypt = settings.tls == tls_mode::require || settings.tls == tls_mode::verify;
  if (must_encrypt && !encrypted) {
    why = make_own_fault(fmt::format("{}: TLS was asked for and the server does not offer it", doing), false, true);
    return nullptr;
  }
  return handle;
}

mysql_handle connected(const mysql_settings& settings, const store_url::endpoint& host, microseconds limit, user_of by,
                       fault& why) {
  const auto login = settings.login();
  login_attempt attempt(fmt::format("{}\n{}\n{}\n{}", settings.name, settings.where(host), login.user,
                                    std::hash<std::string>{}(login.password)));
  if (attempt.refusal() != nullptr) {
    why = *attempt.refusal();
    return nullptr;
  }
  auto handle = log_in(settings, login, host, limit, by, why);
  handle ? attempt.accepted() : attempt.failed(why);
  return handle;
}

}  // namespace

mysql_handle connect_mysql(const mysql_settings& settings, const store_url::endpoint& host, microseconds limit,
                           fault& why) {
  auto handle = connected(settings, host, limit, user_of::dlock, why);
  if (!handle) return nullptr;
  const auto doing =
      fmt::format("dlock: {}: connecting to {}, setting up the session", settings.name, settings.where(host));
  if (!set_session(handle.get(), session_variables(handle.get()), doing, why)) return nullptr;
  return handle;
}

mysql_handle connect_application(const mysql_settings& settings, const store_url::endpoint& host, microseconds limit,
                                 fault& why) {
  auto handle = connected(settings, host, limit, user_of::application, why);
  // The server may not know the character set of the handshake, or ignore it (character-set-client-handshake), without
  // an error.
  const auto doing = fmt::format("dlock: {}: setting the character set", settings.name);
  if (handle && !run_mysql(handle.get(), "SET NAMES utf8mb4", doing, nullptr, why)) {
    why.connection = true;
    return nullptr;
  }
  return handle;
}

bool run_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, mysql_rows* rows, fault& why) {
  if (mysql_real_query(handle, sql.data(), sql.size()) == 0) return read_rows(handle, doing, rows, why);
  why = fault_of(handle, doing);
  return false;
}

bool run_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, sql::sql_rows& rows, fault& why) {
  if (mysql_real_query(handle, sql.data(), sql.size()) != 0) {
    why = fault_of(handle, doing);
    return false;
  }
  return read_each(handle, doing, why, [&](MYSQL_ROW row, const unsigned long* lengths, const auto& columns) {
    auto& added = rows.emplace_back();
    for (std::size_t i = 0; i != columns.size(); ++i) added.add(cell_of(row[i], lengths[i], columns[i]));
  });
}

bool send_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, fault& why) {
  if (mysql_send_query(handle, sql.data(), static_cast<unsigned long>(sql.size())) == 0) return true;
  why = fault_of(handle, doing);
  return false;
}

bool read_mysql(MYSQL* handle, std::string_view doing, mysql_rows* rows, fault& why) {
  if (!mysql_read_query_result(handle)) return read_rows(handle, doing, rows, why);
  why = fault_of(handle, doing);
  return false;
}

bool is_mariadb(MYSQL* handle) {
  const char* const version = mysql_get_server_info(handle);
  return version != nullptr && std::strstr(version, "MariaDB") != nullptr;
}

unsigned long version_in(std::string_view text) noexcept {
  constexpr std::string_view pretended = "5.5.5-";
  const bool pretends = text.starts_with(pretended) && text.find("MariaDB") != std::string_view::npos;
  if (pretends) text.remove_prefix(pretended.size());
  unsigned long version = 0;
  for (int part = 0; part != 3; ++part) {
    unsigned number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || number > 99) return 0;
    version = version * 100 + number;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (part != 2 && !text.starts_with('.')) return 0;
    if (part != 2) text.remove_prefix(1);
  }
  return version;
}

namespace {

unsigned long version_of(MYSQL* handle) {
  const char* const text = mysql_get_server_info(handle);
  const auto version = text == nullptr ? 0 : version_in(text);
  return version != 0 ? version : mysql_get_server_version(handle);
}

}  // namespace

bool can_refuse_to_wait(MYSQL* handle) { return is_mariadb(handle) && version_of(handle) >= 100'300; }

bool can_skip_locked(MYSQL* handle) { return version_of(handle) >= (is_mariadb(handle) ? 100'600u : 80'001u); }

int mysql_socket(MYSQL* handle) noexcept {
#ifdef MARIADB_PACKAGE_VERSION
  return static_cast<int>(mysql_get_socket(handle));
#else
  return static_cast<int>(handle->net.fd);
#endif
}

namespace {

enum on : unsigned { mysql = 1, mariadb = 2, mariadb_11 = 4, any_mariadb = mariadb | mariadb_11, all = 7 };

struct known_variable {
  unsigned servers;
  session_variable variable;
};

// docs/operations.md explains each variable. Those that only privileged users may change are not in the list.
constexpr known_variable known[] = {
    {all, {"autocommit", "1"}},
    // The same under the standard's name and the older one: MariaDB has the former since 11.1.
    {mysql | mariadb_11, {"transaction_isolation", "'READ-COMMITTED'"}},
    {mysql | mariadb_11, {"transaction_read_only", "0"}},
    {mariadb, {"tx_isolation", "'READ-COMMITTED'"}},
    {mariadb, {"tx_read_only", "0"}},
    {all, {"completion_type", "NO_CHAIN"}},
    {all, {"innodb_lock_wait_timeout", "1"}},
    {all, {"lock_wait_timeout", "2"}},
    {all, {"time_zone", "'+00:00'"}},
    {all, {"sql_mode", "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"}},
    {all, {"sql_select_limit", "18446744073709551615"}},
    {all, {"sql_safe_updates", "0"}},
    {all, {"sql_big_selects", "1"}},
    {all, {"sql_auto_is_null", "0"}},
    {all, {"character_set_client", "utf8mb4"}},
    {all, {"character_set_connection", "utf8mb4"}},
    {all, {"character_set_results", "utf8mb4"}},
    {all, {"wait_timeout", idle_timeout}},
    {mysql, {"max_execution_time", "0"}},
    {any_mariadb, {"max_statement_time", "0"}},
    {any_mariadb, {"query_cache_type", "0"}},
    {any_mariadb, {"wsrep_sync_wait", "0"}},
    {any_mariadb, {"wsrep_dirty_reads", "0"}},
    {any_mariadb, {"sql_if_exists", "0"}},
};

on kind_of(MYSQL* handle) {
  if (!is_mariadb(handle)) return mysql;
  return version_of(handle) < 110'100 ? mariadb : mariadb_11;
}

/// Sets those that the server knows. Only an error's text names an unknown one, so this tries each half separately.
bool set_known(MYSQL* handle, std::span<const session_variable> variables, std::string_view doing, fault& why) {
  constexpr int unknown_variable = 1193;
  std::string sql;
  for (const auto& each : variables) {
    sql += fmt::format("{}{}={}", sql.empty() ? "SET SESSION " : ", ", each.name, each.value);
  }
  sql += fmt::format(", {}=1", session_mark);
  if (run_mysql(handle, sql, doing, nullptr, why)) return true;
  if (why.native != unknown_variable) return false;
  const auto half = variables.size() / 2;
  return half == 0 || (set_known(handle, variables.first(half), doing, why) &&
                       set_known(handle, variables.subspan(half), doing, why));
}

}  // namespace

std::vector<session_variable> session_variables(MYSQL* handle) {
  const auto here = kind_of(handle);
  std::vector<session_variable> found;
  for (const auto& each : known) {
    if ((each.servers & here) != 0) found.push_back(each.variable);
  }
  return found;
}

bool set_session(MYSQL* handle, std::span<const session_variable> variables, std::string_view doing, fault& why) {
  if (!set_known(handle, variables, doing, why)) return false;
  if (in_autocommit(handle)) {
    why = {};
    return true;
  }
  why = make_own_fault(
      fmt::format("{}: a transaction is open from the start: does the server's init_connect begin one?", doing), false,
      true);
  return false;
}

bool in_autocommit(MYSQL* handle) noexcept {
  return (handle->server_status & (SERVER_STATUS_IN_TRANS | SERVER_STATUS_AUTOCOMMIT)) == SERVER_STATUS_AUTOCOMMIT;
}

}  // namespace dlock::stores::mysql
