// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What dlock::odb calls about transactions of the application: leases that one frees or outlives, and rows that one
/// claims.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dlock/export.hpp"
#include "engine/core/service_core.hpp"
#include "engine/operations/row_adoption.hpp"

namespace dlock::engine {

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

}  // namespace dlock::engine
