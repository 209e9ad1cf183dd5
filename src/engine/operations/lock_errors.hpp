// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include "dlock/error.hpp"
#include "dlock/export.hpp"
#include "engine/operations/lock_request.hpp"
#include "engine/operations/operation.hpp"

namespace dlock::engine {

/// The exceptions of operations and their texts.

inline long long in_ms(microseconds value) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(value).count();
}

/// Throws lock_lost unless the grant can be trusted now.
void ensure_held(grant& grant, instant now);
/// Throws lock_refused after close(), and store_error if the calling thread would wait for itself.
void check_may_wait(const engine_services& services, const lock_key& key);
/// Throws because the calling thread would wait for itself. `doing` begins the reason.
[[noreturn]] void throw_waits_for_itself(const lock_key& key, const std::string& doing, const fault& why);
/// Throws because the store could not be asked about a key, and notifies the observer.
[[noreturn]] void throw_failed(engine_services& services, const lock_key& key, const fault& why, bool unknown,
                               microseconds waited);
[[noreturn]] void throw_no_such_row(const lock_key& key);
[[noreturn]] void throw_too_many(const engine_services& services, const lock_key& key);
[[noreturn]] void throw_interrupted(interruption why, const lock_key& key, microseconds waited);
/// The text of lock_timeout: which owner held the key, in another process or in this one. `mine` is the session that
/// asked.
std::string busy_text(const engine_services& services, const lock_key& key, const seen& holder, const id128& mine,
                      microseconds waited, bool row_locked = false);
std::string busy_here_text(const engine_services& services, const lock_request& asked, const lock_key& key,
                           microseconds waited);
/// Explains why a lease was lost. It does not check which owner has the row.
std::string_view explain(loss_reason reason) noexcept;
/// Describes a fault, with the name of the store and without "dlock: ".
DLOCK_EXPORT std::string trouble(const engine_services& services, const fault& why);
/// Throws for a statement that failed or has no answer. `doing` names the call.
[[noreturn]] void throw_store_error(const engine_services& services, const std::string& doing,
                                    const statement& statement);

}  // namespace dlock::engine
