// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Everything dlock throws besides std::invalid_argument (bad options or keys) and std::logic_error (misuse).
/// Busy is an answer, not an exception; callers treat the rest in four ways, so there are four types.

#include "dlock/detail/cxx20.hpp"
//
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// What went wrong, as a portable code in dlock::error_category().
enum class errc {
  timed_out = 1,      ///< the key stayed busy for the whole wait (lock_timeout)
  cancelled,          ///< the caller's stop_token was requested while waiting (lock_refused)
  already_held,       ///< this owner holds the key and reentry::refuse was asked (lock_refused)
  too_many_waiters,   ///< service_options::max_waiters are waiting already (lock_refused)
  closed,             ///< the service was closed (lock_refused)
  forked,             ///< called in a child of the process that made the service (lock_refused)
  no_such_row,        ///< there is no row with that id to lock (lock_refused)
  deadlock,           ///< the wait can't succeed, because of a deadlock cycle (lock_deadlock)
  lost,               ///< the lease may no longer be trusted (lock_lost)
  stale_fence,        ///< a resource has seen a greater fencing token (stale_fence in fenced.hpp)
  store_failed,       ///< the database refused (a right, a password, a table that is missing) or failed (store_error)
  store_unreachable,  ///< no connection to the database could be had, for now (store_error)
  outcome_unknown,    ///< the connection broke in mid-statement; dlock cleans up behind it (store_error)
};

/// Why a lease was lost. A lease is lost once, for the first reason.
enum class loss_reason {
  none = 0,         ///< it was not lost
  renewal_refused,  ///< the server no longer has our session, or an operator has revoked it
  unreachable,      ///< no renewal was confirmed before the local deadline
  expired,          ///< a lease that ends by an expiry (renewal::none, renewal::manual) ran out
  taken_over,       ///< the lock row names another holder, or was deleted
  max_hold,         ///< lock_options::max_hold was reached
  server_changed,   ///< the connection now leads to another server: its rows prove nothing
  abandoned,        ///< the session was given up because too many attempts had unknown outcomes
  closed,           ///< the service was closed with release_all
  forked,           ///< asked in a forked child: the lease is the parent's, and may be held there still
};

/// "renewal refused", "unreachable", ...: for messages and labels.
DLOCK_EXPORT std::string_view to_string(loss_reason reason) noexcept;

DLOCK_EXPORT const std::error_category& error_category() noexcept;
inline std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), error_category()}; }

namespace detail {
/// Every text begins with "dlock: ", once.
DLOCK_EXPORT std::string error_text(const std::string& text);
}  // namespace detail

/// The common base. what() begins with "dlock: " and says which key, how long, in which unit.
class error : public std::system_error {
 public:
  error(errc code, const std::string& text)
      : std::system_error(make_error_code(code)), text_(detail::error_text(text)) {}
  /// The text alone: std::system_error would add code().message(), which says less of the same.
  const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;  // copying it never throws
};

/// The key stayed busy for the whole wait. Trying again later is reasonable.
class lock_timeout : public error {
 public:
  explicit lock_timeout(const std::string& text) : error(errc::timed_out, text) {}
};

/// The call did not wait, or not to the end: cancelled, already held, too many waiters, closed, forked, a deadlock. See
/// code().
class lock_refused : public error {
 public:
  using error::error;
};

/// The wait is in a deadlock cycle: each thread in it holds a lock for which another one waits. This wait would end
/// first, and until then none of the others could go on. The thread keeps its locks. Release them, so that the others
/// go on, and begin again.
class lock_deadlock : public lock_refused {
 public:
  explicit lock_deadlock(const std::string& text) : lock_refused(errc::deadlock, text) {}
};

/// The lease is not ours (any more): results made under it must not be trusted.
class lock_lost : public error {
 public:
  lock_lost(loss_reason reason, const std::string& text) : error(errc::lost, text), reason_(reason) {}
  loss_reason reason() const noexcept { return reason_; }

 private:
  loss_reason reason_;
};

/// The database could not be reached, refused, or failed.
class store_error : public error {
 public:
  /// What will not pass by itself (a wrong password, no such database, no database file) is no store_unreachable,
  /// however it ended the connection, but store_failed: there was an answer.
  store_error(errc code, const std::string& text, int native, std::string_view sqlstate, bool transient)
      : error(code == errc::store_unreachable && !transient ? errc::store_failed : code, text),
        native_(native),
        sqlstate_(sqlstate),
        transient_(transient) {}
  /// The client library's own error number (MySQL 1205, SQLite 5, ...); 0 where there is none.
  int native_code() const noexcept { return native_; }
  /// Five characters, or empty where the database has none.
  const std::string& sqlstate() const noexcept { return sqlstate_; }
  /// Whether the same call may succeed later without anybody changing anything.
  bool transient() const noexcept { return transient_; }

 private:
  int native_;
  std::string sqlstate_;
  bool transient_;
};

}  // namespace dlock

template <>
struct std::is_error_code_enum<dlock::errc> : std::true_type {};
