// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "dlock/store_interface/store_types.hpp"

namespace dlock::engine {

/// A connection on which something was sent that has no answer (rule 6). All that was sent together shares it: it is
/// settled once, however many keys it was about.
struct doubt {
  explicit doubt(connection_identity of) : where(std::move(of)), gone(where.id == 0) {}

  const connection_identity where;
  std::atomic<bool> gone;  ///< nothing sent on it can run any more
  // Guarded by the mutex of background_work:
  std::size_t open = 0;             ///< attempts that are cancelled in the background because of it
  std::shared_ptr<void> counted{};  ///< while there are some: the session that counts it
};

}  // namespace dlock::engine
