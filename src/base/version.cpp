// SPDX-License-Identifier: BSL-1.0
#include <dlock/version.hpp>

namespace dlock {

std::string_view library_version() noexcept { return header_version; }

}  // namespace dlock
