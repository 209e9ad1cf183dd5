// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "options.hpp"

namespace dlock::command {

/// The whole command line: parses into `into`, which must outlive it. The manual page and the completion of shells are
/// generated from it (generate.hpp).
std::unique_ptr<CLI::App> make_command_line(all_options& into);

}  // namespace dlock::command
