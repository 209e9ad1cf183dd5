// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlock::stores::sql {

/// For messages: "host/pid label".
std::string describe_holder(std::string_view host, std::int64_t pid, std::string_view label);

}  // namespace dlock::stores::sql
