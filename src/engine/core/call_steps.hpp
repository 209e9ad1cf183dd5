// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The steps that blocking and asynchronous calls share, before their operation and after it.

#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "engine/core/service_core.hpp"
#include "engine/operations/acquisition.hpp"
#include "engine/operations/multi_acquisition.hpp"
#include "engine/operations/release_operation.hpp"

namespace dlock::engine {

// ---- acquires of one key (Keys = lock_key) or of several (lock_keys) ------------------------------------------------

inline std::span<const lock_key> all_of(const lock_key& key) noexcept { return {&key, 1}; }
inline std::span<const lock_key> all_of(const lock_keys& keys) noexcept { return {keys.begin(), keys.end()}; }

template <class Keys>
using acquired_of = std::conditional_t<std::is_same_v<Keys, lock_key>, acquired, acquired_all>;
template <class Keys>
using acquisition_of = std::conditional_t<std::is_same_v<Keys, lock_key>, acquisition, multi_acquisition>;

// ---- before: on the calling thread, because its owner and its transactions matter -----------------------------------

/// Throws std::invalid_argument for options that are not valid, and for what the store or a row can't do. `which`
/// begins the text.
void check_request(const service_core& core, const std::string& which, const row_renewal* row,
                   const detail::lock_settings& terms);
void check_request(const service_core& core, const lock_key& key, const detail::lock_settings& terms);
/// Throws std::invalid_argument if the thread's owner has a request id that the store or the options don't allow.
void check_owner(const service_core& core, const detail::lock_settings& terms);
/// Does both for an acquire of these keys.
void check_acquire(const service_core& core, std::span<const lock_key> keys, const detail::lock_settings& terms);
/// Throws lock_refused if the wait was cancelled before it began.
void check_cancelled(std::span<const lock_key> keys, const detail::lock_settings& terms);

/// Whether the calling thread has a transaction open on the database of the locks.
bool in_transaction(const service_core& core) noexcept;
/// Ends one lease. Returns whether it was the last one, so that the caller must free the grant.
bool leave(const std::shared_ptr<grant>& grant) noexcept;

// ---- after ----------------------------------------------------------------------------------------------------------

/// Notifies the observer of what was acquired while in_transaction().
void tell_in_transaction(service_core& core, const acquired& result);
void tell_in_transaction(service_core& core, const acquired_all& result);

/// Notes a grant that the calling thread got while in_transaction().
void note_in_transaction(const std::shared_ptr<grant>& granted) noexcept;
inline void note_in_transaction(const acquired& result) noexcept {
  if (result.held != nullptr && !result.entered_again) note_in_transaction(result.held);
}
inline void note_in_transaction(const acquired_all& result) noexcept {
  for (const auto& each : result.held) note_in_transaction(each);
}

/// A transaction that the grant had to outlive has ended. `verified`: it had verified the grant, so it had the row
/// locked. Called inside the transaction on the thread that ends it, so it only queues the release.
void transaction_over(const std::shared_ptr<grant>& grant, bool verified) noexcept;
/// Unless all were freed, throws lock_lost or store_error for the worst result.
void check_released(std::span<const ended_lease> all);
/// Throws for a grant that was not freed.
[[noreturn]] void throw_not_released(grant& grant, release_result result, const fault& why);
/// The same of a lease that was to be downgraded.
[[noreturn]] void throw_not_downgraded(grant& grant, release_result result, const fault& why);

}  // namespace dlock::engine
