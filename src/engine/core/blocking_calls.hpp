// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The calls behind the public classes: operations that run on the calling thread until they have finished.

#include <memory>
#include <span>

#include "dlock/export.hpp"
#include "engine/core/call_steps.hpp"
#include "engine/core/service_core.hpp"

namespace dlock::engine {

DLOCK_EXPORT acquired acquire(service_core& core, const lock_key& key, const detail::lock_settings& terms,
                              const lock_request::wait_mode& wait_mode = {});
acquired_all acquire_all(service_core& core, const lock_keys& keys, const detail::lock_settings& terms,
                         const lock_request::wait_mode& wait_mode = {});
/// Waits as between two attempts. Throws lock_refused if the options or close() cancel the wait.
void pause_for(service_core& core, microseconds time, const lock_key& key, const detail::lock_settings& terms,
               instant begun);
/// Waits so long. Returns false if the wait was cancelled or the service is closed.
bool pause_for(service_core& core, microseconds time, const std::stop_token& cancel);

/// Ends one lease of the grant, within release_limit. Throws lock_lost or store_error if the key was not released.
void release(const std::shared_ptr<grant>& grant);
/// Ends one lease of each grant, within one release_limit for all, and sets the results. Precondition: all grants are
/// of one service.
void release_all(std::span<ended_lease> all) noexcept;
/// Frees grants whose last lease has ended. Precondition: there is at least one, and all are of one service.
void free_all(std::span<ended_lease> all) noexcept;
/// release() for callers that need no result.
void end(const std::shared_ptr<grant>& grant) noexcept;
/// Sets the separate expiry of a lease to now + ttl, unless it ends later. Throws lock_lost or store_error, and
/// std::logic_error inside a transaction of this thread that verified the grant.
void extend(const std::shared_ptr<grant>& grant, microseconds ttl);
/// Turns an exclusive lease into a shared one, and returns its grant. Throws what check_may_downgrade() throws, and
/// std::invalid_argument where nothing is shared; then the lease is as before. Otherwise its grant has ended: throws
/// lock_lost or store_error if there is no new one.
/// `begun` is set before that.
std::shared_ptr<grant> downgrade(const std::shared_ptr<grant>& grant, bool& begun);
/// Throws lock_lost unless the grant can be trusted now.
DLOCK_EXPORT void ensure_held(grant& grant);
/// Whether the current owner could enter the key again, or holds it by a mutex.
bool holds(service_core& core, const lock_key& key);

}  // namespace dlock::engine
