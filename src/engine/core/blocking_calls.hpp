// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the faces call: operations, run on the calling thread until they are finished.

#include <functional>
#include <memory>
#include <vector>

#include "dlock/export.hpp"
#include "engine/core/call_steps.hpp"
#include "engine/core/service_core.hpp"
#include "engine/operations/row_adoption.hpp"

namespace dlock::engine {

/// Most re-entries: a call without options, by an owner whose lease on the key is of the plainest kind.
/// Null: acquire() does it.
std::shared_ptr<grant> enter_again(service_core& core, const lock_key& key);

DLOCK_EXPORT acquired acquire(service_core& core, const lock_key& key, const detail::lock_settings& terms,
                              const lock_request::wait_mode& wait_mode = {});
acquired_all acquire_all(service_core& core, const lock_keys& keys, const detail::lock_settings& terms,
                         const lock_request::wait_mode& wait_mode = {});
/// Waits, as between two attempts. Throws lock_refused where the options or close() cancel it.
void pause_for(service_core& core, microseconds time, const lock_key& key, const detail::lock_settings& terms,
               instant begun);

/// A lease on it ends, within release_limit. Throws lock_lost, store_error where it was not released.
void release(const std::shared_ptr<grant>& grant);
/// One lease on each of them ends, within one release_limit for all. Says what became of them. They are grants of one
/// service. Never throws.
void release_all(std::span<ended_lease> all) noexcept;
/// release() for callers that need no result.
void end(const std::shared_ptr<grant>& grant) noexcept;
/// Sets a lease's separate expiry to now + ttl, unless it ends later. Throws lock_lost, store_error; std::logic_error
/// inside a transaction of this thread that verified the grant.
void extend(const std::shared_ptr<grant>& grant, microseconds ttl);
/// Throws lock_lost unless the grant can be trusted now.
DLOCK_EXPORT void ensure_held(grant& grant);
/// Whether the current owner could enter the key again, or holds it by a mutex.
bool holds(service_core& core, const lock_key& key);

/// Frees a grant by a transaction of the application's: `free` does that, and says whether it is certain. The lease is
/// over afterwards. Throws lock_lost before it calls `free`, else what `free` throws. False: there are other leases, or
/// a transaction that it must outlive, and nothing was done.
DLOCK_EXPORT bool release_by(const std::shared_ptr<grant>& grant, const std::function<bool()>& free);
/// On the thread of the transaction, which has verified the grant and has its row locked: the key is not freed before
/// transaction_ended() was called as often.
DLOCK_EXPORT void outlive_transaction(grant& grant) noexcept;
/// On the thread that ends it, from inside the application's transaction: it only queues what is to be done.
DLOCK_EXPORT void transaction_ended(const std::shared_ptr<grant>& grant) noexcept;

/// Rows that statements of the application's transaction grant (claims). `take` runs that transaction: it says what it
/// takes before it commits, under the session and nonce of the adoption, and gives the fences of all, in their order;
/// 0: that one was not to be had. Gives a grant for each, or null; what can't be had is released in the background. If
/// `take` throws, all that it expected is cancelled in the background. Throws what `take` throws; lock_refused,
/// store_error.
DLOCK_EXPORT std::vector<std::shared_ptr<grant>> adopt(
    service_core& core, const detail::lock_settings& terms, row_renewal renewal,
    const std::function<std::vector<std::uint64_t>(row_adoption&)>& take);

/// The present thread ends, and the calls on its stack will never go on: exit() was called in one of them. What they
/// hold in the name of that owner is released. `all`: so is what his mutexes hold.
void abandon(const owner_state& owner, bool all) noexcept;

/// One statement of an operator's: a call, or a verb. Throws store_error.
reply ask(service_core& core, const char* doing, const request& request);
reply ask(service_core& core, const char* doing, const std::function<reply(connection&)>& use);

}  // namespace dlock::engine
