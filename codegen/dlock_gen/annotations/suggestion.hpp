// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlock_gen {

/// "; did you mean 'order'?" if one of `known` is spelled nearly as `wrong`, else an empty text.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace dlock_gen
