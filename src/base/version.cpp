// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlock/version.hpp>

namespace dlock {

std::string_view library_version() noexcept { return header_version; }

}  // namespace dlock
