// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>

#include "stores/zookeeper/recipe/nodes.hpp"

namespace dlock::stores::zookeeper {

using requests = std::span<const request>;
using replies = std::span<reply>;

/// Executes requests of one verb and one session, which only a look may lack.
void execute_verb(const lock_nodes& nodes, const execution& with, requests asked, replies told);

}  // namespace dlock::stores::zookeeper
