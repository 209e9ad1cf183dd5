// SPDX-License-Identifier: BSL-1.0
// Writes what is generated from the definition of the command line: dlock_generate man|bash|zsh|exit-codes
#include <cstdio>
#include <string>
#include <string_view>

#include "command_line.hpp"
#include "generate.hpp"

int main(int argc, char** argv) {
  using namespace dlock::command;
  all_options options;
  const auto line = make_command_line(options);
  const std::string_view what = argc == 2 ? argv[1] : "";
  const auto text = what == "man"          ? manual_page(*line)
                    : what == "bash"       ? bash_completion(*line)
                    : what == "zsh"        ? zsh_completion(*line)
                    : what == "exit-codes" ? markdown_exit_codes()
                                           : std::string{};
  if (text.empty()) {
    std::fputs("usage: dlock_generate man|bash|zsh|exit-codes\n", stderr);
    return 64;
  }
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 70;
}
