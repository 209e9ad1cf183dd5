// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The client library's connection with our settings, and statements that are not performance-critical.

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/client/api.hpp"
#include "stores/mysql/client/settings.hpp"
#include "stores/sql/sql_connection.hpp"

namespace dlock::stores::mysql {

/// The client library's type of truth values: char in one, bool in the other.
using mysql_bool = std::remove_cv_t<std::remove_reference_t<decltype(*MYSQL_BIND{}.is_null)>>;

struct mysql_close_handle {
  void operator()(MYSQL* handle) const noexcept { mysql_close(handle); }
};
using mysql_handle = std::unique_ptr<MYSQL, mysql_close_handle>;
using mysql_rows = std::vector<std::vector<std::optional<std::string>>>;

/// Connects, and sets up the session as the protocol needs it: autocommit, READ COMMITTED, short lock waits. Returns
/// null and sets `why` if that fails, or TLS was required and not used. `limit` bounds each wait, rounded up to whole
/// seconds; a mysql_io_bound bounds the whole.
mysql_handle connect_mysql(const mysql_settings& settings, const store_url::endpoint& host, microseconds limit,
                           fault& why);

/// Connects for the application: with the server's default session, and without a limit for statements.
mysql_handle connect_application(const mysql_settings& settings, const store_url::endpoint& host, microseconds limit,
                                 fault& why);

/// Runs a text that contains all its values. `rows` may be null. Returns false and sets `why` if it failed.
bool run_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, mysql_rows* rows, fault& why);
/// Runs a text that returns rows. Columns of integers become numbers.
bool run_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, sql::sql_rows& rows, fault& why);
/// Runs a text in two steps, between which the caller may wait for the reply in its own way.
bool send_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, fault& why);
bool read_mysql(MYSQL* handle, std::string_view doing, mysql_rows* rows, fault& why);

/// A variable that differs between connections, and the value that our statements need.
struct session_variable {
  const char* name;
  const char* value;
};

/// How long the server keeps an idle connection, in seconds: its wait_timeout.
inline constexpr const char* idle_timeout = "28800";

/// set_session() sets it to 1. A connection that a proxy gives to other clients as well loses it.
inline constexpr const char* session_mark = "@dlock_session";

/// The variables that this server knows.
std::vector<session_variable> session_variables(MYSQL* handle);

/// Rule 9, in one round trip: sets up the session as the protocol needs it, regardless of the server's defaults and its
/// init_connect. Leaves out a variable that the server does not know, which costs some ten more. Returns false and sets
/// `why` if it failed.
bool set_session(MYSQL* handle, std::span<const session_variable> variables, std::string_view doing, fault& why);

/// Whether the next statement is committed by itself, according to the server's last reply.
bool in_autocommit(MYSQL* handle) noexcept;

/// Rule 8: all times are the server's: microseconds since 1970, UTC, regardless of the time zone of session, server or
/// machine. The clock stands still while a statement runs, even while it waits for a row.
inline constexpr const char* server_clock = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";

bool is_mariadb(MYSQL* handle);
/// Returns 101107 for "10.11.7-MariaDB". Skips the "5.5.5-" that MariaDB 10 puts before its version, because replicas
/// of MySQL knew no 10: MariaDB's client library removes it, MySQL's takes it for the version. Returns 0 if the text
/// does not begin with a version.
unsigned long version_in(std::string_view text) noexcept;

/// Whether a single statement can be told not to wait for row locks: MariaDB since 10.3. MySQL waits at least a second.
bool can_refuse_to_wait(MYSQL* handle);
/// The prefix of such a statement: a row that another transaction has locked is busy at once, not after the lock wait
/// timeout.
inline constexpr std::string_view quick_prefix = "SET STATEMENT innodb_lock_wait_timeout=0 FOR ";
/// Galera: the prefix of a statement that waits for everything that was committed in the cluster before it. It has no
/// effect in an open transaction (measured).
inline constexpr std::string_view sync_prefix = "SET STATEMENT wsrep_sync_wait=7 FOR ";
/// Both prefixes.
inline constexpr std::string_view quick_sync_prefix = "SET STATEMENT wsrep_sync_wait=7,innodb_lock_wait_timeout=0 FOR ";
/// Whether the server knows SELECT ... FOR UPDATE SKIP LOCKED: MariaDB since 10.6, MySQL since 8.0.1.
bool can_skip_locked(MYSQL* handle);

/// The file descriptor of its socket, owned by the client library.
int mysql_socket(MYSQL* handle) noexcept;

}  // namespace dlock::stores::mysql
