// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What dlock::odb calls about transactions of the application: they free leases, delay the end of leases, and claim
/// rows.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dlock/export.hpp"
#include "engine/core/service_core.hpp"
#include "engine/operations/row_adoption.hpp"

namespace dlock::engine {

/// Frees a grant by a transaction of the application: `free` does that, and returns whether it is certain. The lease is
/// over afterwards. Returns false and does nothing if there are other leases, or a transaction that the grant must
/// outlive. Throws lock_lost before it calls `free`, or what `free` throws.
DLOCK_EXPORT bool release_by(const std::shared_ptr<grant>& grant, const std::function<bool()>& free);
/// Called on the thread of a transaction that has verified the grant and has its row locked. The key is not freed
/// before transaction_ended() was called as often.
DLOCK_EXPORT void outlive_transaction(grant& grant) noexcept;
/// Called inside the application's transaction, on the thread that ends it, so it only queues the release.
DLOCK_EXPORT void transaction_ended(const std::shared_ptr<grant>& grant) noexcept;

/// Adopts rows that a transaction of the application takes (claims). `take` runs that transaction, under the session
/// and nonce of the adoption. Before the commit it names the rows to the adoption. It returns the fences of all of them
/// in their order, 0 for a row that it did not get. Returns a grant for each row, or null; a row that can't be kept is
/// released in the background. If `take` throws, the background cancels all rows that it named. Throws what `take`
/// throws, lock_refused, and store_error.
DLOCK_EXPORT std::vector<std::shared_ptr<grant>> adopt(
    service_core& core, const detail::lock_settings& terms, row_renewal renewal,
    const std::function<std::vector<std::uint64_t>(row_adoption&)>& take);

}  // namespace dlock::engine
