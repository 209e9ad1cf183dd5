// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::stores::mysql {

/// What an error number of MySQL, MariaDB or their client library means for the statement that failed with it.
struct mysql_error_class {
  unsigned code = 0;
  /// False if the statement may have been executed, or may still be.
  bool certainly_not_done = true;
  /// The same statement may succeed later, on this or another connection.
  bool transient = false;
  /// The connection can't be used any more: it broke, or its server accepts no writes.
  bool connection = false;
  /// A row or table lock was not free in time.
  bool contended = false;
  /// The server's text contains values, such as a key.
  bool tells_values = false;
};

constexpr unsigned mysql_record_changed = 1020;
constexpr unsigned mysql_lock_wait_timeout = 1205;
constexpr unsigned mysql_deadlock = 1213;
constexpr unsigned mysql_duplicate_key = 1062;
constexpr unsigned mysql_no_such_thread = 1094;
constexpr unsigned mysql_no_such_column = 1054;
constexpr unsigned mysql_no_such_table = 1146;
/// MySQL Router, which shares connections, refuses a function of the session's state.
constexpr unsigned mysql_refused_by_router = 3566;

/// The server prepares no statements, or not this one, so its text is sent instead.
bool goes_as_text(unsigned code) noexcept;
/// Whether, by its text, a failed TLS handshake (2026) was a network error, which is transient; a bad certificate or
/// version is not.
bool tls_may_succeed_later(std::string_view text) noexcept;

/// For numbers that the table does not list. A server's error means "not executed", except for those without a meaning
/// (1105, 1815) and those of proxies (from 9000 on); these, and all errors of the client library, mean "unknown".
mysql_error_class classify_mysql_error(unsigned code) noexcept;

/// The fault to report. `doing` is what was tried ("take", "connect to db1:3306").
fault make_mysql_fault(unsigned code, std::string_view sqlstate, std::string_view text, std::string_view doing);

/// Adds one host's error to those of other hosts. The first one already begins with the store's name.
void add_reason(std::string& to, const std::string& store, std::string_view text);

/// A fault that no server reported.
fault make_own_fault(std::string text, bool transient = false, bool connection = false);

/// outcome::unknown or outcome::failed, for a statement that was sent and failed with this error.
outcome outcome_of_mysql_error(unsigned code) noexcept;

}  // namespace dlock::stores::mysql
