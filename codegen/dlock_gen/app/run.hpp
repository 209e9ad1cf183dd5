// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <iosfwd>

#include "app/command_line.hpp"

namespace dlock_gen {

/// Does what the command line asks for. Prints results to `out` and messages to `messages`.
exit_code run(const settings& chosen, std::ostream& out, std::ostream& messages);

}  // namespace dlock_gen
