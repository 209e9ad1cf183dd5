// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

namespace dlock_gen {

/// Whether a key of the one domain can be a key of the other: order:{} and order:42, but not order:{} and user:{}. A
/// value never has a ':' in it. "?" is a key that is known at run time alone, and is taken for none.
bool overlap(std::string_view left, std::string_view right);

}  // namespace dlock_gen
