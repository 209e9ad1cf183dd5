// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlock/detail/odb_compat.hpp>
//
#include <odb/connection.hxx>

#include "engine/books/grant.hpp"

namespace dlock::detail {

/// Proves on a connection with a transaction open that the grant is still ours. Does not roll back.
/// Errors: as dlock::verify(); the lease's own clock is not asked.
void verify_grant(odb::connection& connection, engine::grant& grant);

}  // namespace dlock::detail
