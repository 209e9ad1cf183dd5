// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What operators see of the lock tables, the same in all databases.

#include <cstdint>
#include <string>
#include <string_view>

#include "dlock/store_interface/holder_info.hpp"
#include "held_lock_view.hpp"

namespace dlock::stores::sql {

/// What an operator sees of a held lock. The time left is never negative; that since the grant is as it was read.
holder_info described(const entities::held_lock_view& row);

/// For messages: "host/pid label".
std::string describe_holder(std::string_view host, std::int64_t pid, std::string_view label);

}  // namespace dlock::stores::sql
