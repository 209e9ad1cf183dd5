// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace dlock::engine {

struct owner_state;

/// Releases what calls on the stack of the present thread hold in the name of that owner, because the thread ends and
/// these calls never go on: exit() was called in one of them. `all`: also what distributed_mutexes of the owner hold.
void abandon(const owner_state& owner, bool all) noexcept;

}  // namespace dlock::engine
