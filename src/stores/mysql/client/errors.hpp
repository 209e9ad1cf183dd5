// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::mysql {

/// What an error number of MySQL, MariaDB or their client library says about the statement that got it.
struct mysql_error_class {
  unsigned code = 0;
  /// False: it may have been done, or may still be done.
  bool certainly_not_done = true;
  /// The same statement may succeed later, on this or another connection.
  bool transient = false;
  /// The connection is of no more use: it broke, or its server does not take writes.
  bool connection = false;
  /// A row or table lock was not to be had in time.
  bool contended = false;
  /// The server's text shows values, such as a key.
  bool tells_values = false;
};

constexpr unsigned mysql_record_changed = 1020;
constexpr unsigned mysql_lock_wait_timeout = 1205;
constexpr unsigned mysql_deadlock = 1213;
constexpr unsigned mysql_duplicate_key = 1062;
constexpr unsigned mysql_no_such_thread = 1094;
constexpr unsigned mysql_no_such_table = 1146;

/// The server prepares no statement, or not this one: its text may be sent instead.
bool goes_as_text(unsigned code) noexcept;
/// A TLS handshake failed (2026): whether by its text the network broke. The rest stays as it is: a certificate, a
/// version.
bool tls_may_succeed_later(std::string_view text) noexcept;

/// For numbers that the table does not list: a server's answer means "not done", but for those that say nothing (1105,
/// 1815) and those of proxies (from 9000 on); these, and anything of the client library, mean "don't know".
mysql_error_class classify_mysql_error(unsigned code) noexcept;

/// The fault to report; `doing` says what was tried ("take", "connect to db1:3306").
fault make_mysql_fault(unsigned code, std::string_view sqlstate, std::string_view text, std::string_view doing);

/// "INSERT", of "INSERT command denied to user ...": which right a statement lacked; empty where the text names none.
std::string missing_right(std::string_view text);

/// Adds what went wrong with one host to what did with others: the first has the store's name already.
void add_reason(std::string& to, const std::string& store, std::string_view text);

/// A fault that no server reported.
fault make_own_fault(std::string text, bool transient = false, bool connection = false);

/// outcome::unknown or outcome::failed for a statement that was sent and got this error.
outcome outcome_of_mysql_error(unsigned code) noexcept;

}  // namespace dlock::stores::mysql
