// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <map>
#include <memory>

#include "engine/grant.hpp"

namespace dlock::engine {

/// The place of a grant among the deadlines. Guarded by the mutex of deadline_timer.
struct deadline_place {
  using all = std::multimap<instant, std::weak_ptr<grant>>;

  all::iterator at{};
  all::node_type room{};  ///< while it is not among them
  bool set = false;
};

}  // namespace dlock::engine
