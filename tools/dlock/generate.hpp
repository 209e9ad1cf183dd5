// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace dlock::command {

// Output that is generated from the definition of the command line, so that it can't differ from it.

/// dlock.1, in man(7).
std::string manual_page(const CLI::App& line);
/// For bash: a function _dlock, and "complete -F _dlock dlock".
std::string bash_completion(const CLI::App& line);
/// For zsh: the file _dlock.
std::string zsh_completion(const CLI::App& line);
/// The exit codes, as docs/command.md has them.
std::string markdown_exit_codes();

}  // namespace dlock::command
