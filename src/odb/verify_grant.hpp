// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>
#include <odb/transaction.hxx>

#include <vector>

#include "dlock/lease.hpp"
#include "engine/registry/grant.hpp"

namespace dlock::detail {

/// Proves in the connection's open transaction that the grant is still ours. Does not roll back.
/// Errors: as dlock::verify(), but without regard to the lease's own clock.
void verify_grant(odb::connection& connection, engine::grant& grant);

/// dlock::verify(). `reads`: the transaction relies on what it has read. It does not where a version that was loaded
/// under the lock guards the write.
void verify_all(odb::transaction& in, std::vector<const lease*> held, bool reads);

}  // namespace dlock::detail
