// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The client library's connection: made with our settings, and statements that are not hot.

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

/// The client library's truth value: char in one, bool in the other.
using mysql_bool = std::remove_cv_t<std::remove_reference_t<decltype(*MYSQL_BIND{}.is_null)>>;

struct mysql_close_handle {
  void operator()(MYSQL* handle) const noexcept { mysql_close(handle); }
};
using mysql_handle = std::unique_ptr<MYSQL, mysql_close_handle>;
using mysql_rows = std::vector<std::vector<std::optional<std::string>>>;

/// Connects and puts the session into the state that the protocol needs: autocommit, READ COMMITTED, short
/// lock waits. Null, and the reason in `why`, if that can't be done or if TLS was asked for and not got. `limit` bounds
/// each wait, rounded up to whole seconds; a mysql_io_bound bounds the whole.
mysql_handle connect_mysql(const mysql_settings& settings, const store_url::endpoint& host, microseconds limit,
                           fault& why);

/// The same for a connection of the application's: the session is as the server makes it, and statements take as long
/// as they take.
mysql_handle connect_application(const mysql_settings& settings, const store_url::endpoint& host, microseconds limit,
                                 fault& why);

/// Runs a statement whose text holds all its values. `rows` may be null. False, and the reason in `why`, if it failed.
bool run_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, mysql_rows* rows, fault& why);
/// The same of a text that shows rows: columns of integers become numbers.
bool run_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, sql::sql_rows& rows, fault& why);
/// The same in two steps, between which the caller may wait for the answer as it likes: sends it, and reads the answer.
bool send_mysql(MYSQL* handle, const std::string& sql, std::string_view doing, fault& why);
bool read_mysql(MYSQL* handle, std::string_view doing, mysql_rows* rows, fault& why);

/// A variable of the server's that has another value for each connection, and the value that our statements need.
struct session_variable {
  const char* name;
  const char* value;
};

/// Those that this server knows.
std::vector<session_variable> session_variables(MYSQL* handle);

/// Rule 9, in one round trip: puts the connection into the state that the protocol needs, whatever the server's
/// defaults and its init_connect say. A variable that the server does not know is left out, which costs some ten more.
/// False, and the reason.
bool set_session(MYSQL* handle, std::span<const session_variable> variables, std::string_view doing, fault& why);

/// Whether the next statement is committed by itself, as the server's last answer says.
bool in_autocommit(MYSQL* handle) noexcept;

/// Rule 8: time is the server's alone: microseconds since 1970, UTC, whatever the zone of the session, the server or
/// the machine. It stands still while a statement runs, also while it waits for a row.
inline constexpr const char* server_clock = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";

bool is_mariadb(MYSQL* handle);
/// 101107 of "10.11.7-MariaDB". Also behind the "5.5.5-" that MariaDB 10 puts before its version, because replicas of
/// MySQL knew no 10: its own client library takes it away, and MySQL's takes it for the version. 0 if the text begins
/// with no version.
unsigned long version_in(std::string_view text) noexcept;

/// Whether one statement can have the option not to wait for row locks at all: MariaDB since 10.3. MySQL waits a second
/// at least.
bool can_refuse_to_wait(MYSQL* handle);
/// What such a statement begins with: a row that somebody's transaction has locked is busy at once, not after the lock
/// wait timeout.
inline constexpr std::string_view quick_prefix = "SET STATEMENT innodb_lock_wait_timeout=0 FOR ";
/// Galera: what a statement begins with that waits for all that was committed in the cluster before it. It has no
/// effect in an open transaction (measured).
inline constexpr std::string_view sync_prefix = "SET STATEMENT wsrep_sync_wait=7 FOR ";
/// Both.
inline constexpr std::string_view quick_sync_prefix = "SET STATEMENT wsrep_sync_wait=7,innodb_lock_wait_timeout=0 FOR ";
/// Whether SELECT ... FOR UPDATE SKIP LOCKED is known: MariaDB since 10.6, MySQL since 8.0.1.
bool can_skip_locked(MYSQL* handle);

/// The file descriptor of its socket, owned by the client library.
int mysql_socket(MYSQL* handle) noexcept;

}  // namespace dlock::stores::mysql
