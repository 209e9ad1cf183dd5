// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace dlock::engine {

struct owner_state;

/// The present thread ends, and the calls on its stack will never go on: exit() was called in one of them. What they
/// hold in the name of that owner is released. `all`: so is what his mutexes hold.
void abandon(const owner_state& owner, bool all) noexcept;

}  // namespace dlock::engine
