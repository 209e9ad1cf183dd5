// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>

#include "engine/deadline_place.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

/// What renews a grant whose own expiry keeps its lease. `due` is guarded by the mutex of row_renewer; the rest is the
/// renewal's that is under way, or nobody's.
struct renewal_place {
  deadline_place due{};
  statement send{};
  std::shared_ptr<grant> under_way{};  ///< until it is answered
};

}  // namespace dlock::engine
