// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/store_interface/holder_info.hpp"
#include "held_lock_view.hpp"

namespace dlock::stores::sql {

/// What an operator sees of a held lock. The time left is never negative; that since the grant is as it was read.
holder_info described(const entities::held_lock_view& row);

}  // namespace dlock::stores::sql
