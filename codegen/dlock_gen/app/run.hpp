// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace dlock_gen {

/// The program's exit codes. docs/annotations.md has this list.
enum class exit_code : int {
  done = 0,
  refused = 1,    ///< an annotation or a header is wrong; the messages say where
  bad_usage = 2,  ///< the command line is wrong
  no_file = 3,    ///< a file can't be read or written
  warned = 4,     ///< --list --strict: there are warnings
};

enum class mode { generate, explain, list };

struct settings {
  mode what = mode::generate;
  std::vector<std::filesystem::path> files{};
  std::filesystem::path output_folder = ".";
  std::filesystem::path depfile{};
  std::filesystem::path database{};  ///< the folder of a compile_commands.json
  bool has_flags = false;
  std::vector<std::string> flags{};  ///< the arguments after "--"
  bool keep_unchanged = false;
  bool strict = false;
};

struct command_line {
  settings chosen{};
  std::optional<exit_code> ends{};  ///< set if there is nothing to do, because help or an error was printed
};

command_line read_command_line(int argc, const char* const* argv);

/// Does what the command line asks for. Prints results to `out` and messages to `messages`.
exit_code run(const settings& chosen, std::ostream& out, std::ostream& messages);

}  // namespace dlock_gen
