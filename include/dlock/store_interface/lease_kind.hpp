// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/detail/cxx20.hpp"
//
#include <cstdint>

#include "dlock/export.hpp"

namespace DLOCK_EXPORT dlock {

/// What keeps a lease alive.
enum class lease_kind : std::uint8_t {
  session,   ///< the session of its process: renewed for all leases together
  expiring,  ///< nothing: it ends by an expiry in its row, which the caller may extend
  column,    ///< the expiry column of the application's own row or lock table, which the service renews for each lease
  connection,  ///< the connection that took it: the lease ends with it
};

}  // namespace dlock
