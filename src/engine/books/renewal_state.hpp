// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "engine/books/timer_node.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

/// What renews a grant whose own expiry keeps its lease. `due` and `blocked` are guarded by the mutex of row_renewer.
/// The rest belongs to the renewal that is under way.
struct renewal_state {
  timer_node due{};      ///< by the time of its next renewal
  timer_node blocked{};  ///< by its deadline, while its renewal is to wait for a row lock
  statement send{};
  std::shared_ptr<grant> under_way{};  ///< until it is answered
};

}  // namespace dlock::engine
