// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

#include "dlock/export.hpp"

namespace dlock::detail {

/// What messages show of a text: bytes that no terminal shows as themselves are written as \xNN.
DLOCK_EXPORT std::string printable_text(std::string_view text);

}  // namespace dlock::detail
