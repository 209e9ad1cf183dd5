// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What blocking and asynchronous calls have in common, before their operation and after it.

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

// ---- before: on the calling thread, whose owner and transactions are asked for --------------------------------------

/// Throws std::invalid_argument for options that are no good, and for what the store, or a row, can't do. `which`:
/// begins its text.
void check_request(const service_core& core, const std::string& which, const row_renewal* row,
                   const detail::lock_settings& terms);
void check_request(const service_core& core, const lock_key& key, const detail::lock_settings& terms);
/// Throws std::invalid_argument where the thread's owner has a request id, and the store or its terms don't fit that.
void check_owner(const service_core& core, const detail::lock_settings& terms);
/// Both, of an acquire of these keys.
void check_acquire(const service_core& core, std::span<const lock_key> keys, const detail::lock_settings& terms);
/// Throws lock_refused where the wait was cancelled before it began.
void check_cancelled(std::span<const lock_key> keys, const detail::lock_settings& terms);

/// Whether the calling thread has a transaction open on the database of the locks.
bool in_transaction(const service_core& core) noexcept;
/// A lease ends. Whether it was the last one, and the grant is to be freed.
bool leave(const std::shared_ptr<grant>& grant) noexcept;

// ---- after ----------------------------------------------------------------------------------------------------------

/// Tells the observer of what was acquired while in_transaction().
void tell_in_transaction(service_core& core, const acquired& result);
void tell_in_transaction(service_core& core, const acquired_all& result);

/// Of a grant that the calling thread got while in_transaction().
void note_in_transaction(const std::shared_ptr<grant>& granted) noexcept;
inline void note_in_transaction(const acquired& result) noexcept {
  if (result.held != nullptr && !result.entered_again) note_in_transaction(result.held);
}
inline void note_in_transaction(const acquired_all& result) noexcept {
  for (const auto& each : result.held) note_in_transaction(each);
}

/// A transaction that the grant had to outlive has ended. `verified`: it had verified the grant, and so had its row
/// locked. On the thread that ends it, from inside it: this only queues what is to be done.
void transaction_over(const std::shared_ptr<grant>& grant, bool verified) noexcept;
/// Throws of the worst of them lock_lost, or store_error, unless all were freed.
void check_released(std::span<const ended_lease> all);
/// Of a grant that was not freed.
[[noreturn]] void throw_not_released(grant& grant, release_result result, const fault& why);

}  // namespace dlock::engine
