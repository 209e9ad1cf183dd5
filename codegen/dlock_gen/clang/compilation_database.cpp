// SPDX-License-Identifier: BSL-1.0
#include "clang/compilation_database.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "clang/compile_flags.hpp"
#include "clang/cursor.hpp"
#include "clang/translation_unit.hpp"

namespace dlock_gen {

namespace fs = std::filesystem;

compilation_database::compilation_database(const fs::path& folder) {
  auto failed = CXCompilationDatabase_NoError;
  database_ = clang_CompilationDatabase_fromDirectory(folder.c_str(), &failed);
  if (failed != CXCompilationDatabase_NoError) {
    throw cannot_read(fmt::format("there is no compile_commands.json that can be read in {}", folder.string()));
  }
}
compilation_database::~compilation_database() { clang_CompilationDatabase_dispose(database_); }

std::vector<std::string> compilation_database::flags_of(const fs::path& file) const {
  const auto path = fs::absolute(file).lexically_normal();
  const auto commands = clang_CompilationDatabase_getCompileCommands(database_, path.c_str());
  std::vector<std::string> words;
  fs::path folder = fs::current_path();
  if (commands != nullptr && clang_CompileCommands_getSize(commands) > 0) {
    const auto command = clang_CompileCommands_getCommand(commands, 0);
    folder = text_of(clang_CompileCommand_getDirectory(command));
    for (unsigned at = 1; at < clang_CompileCommand_getNumArgs(command); ++at) {
      words.push_back(text_of(clang_CompileCommand_getArg(command, at)));
    }
  }
  if (commands != nullptr) clang_CompileCommands_dispose(commands);
  return useful_flags(words, folder);
}

std::vector<fs::path> compilation_database::files() const {
  std::vector<fs::path> found;
  const auto commands = clang_CompilationDatabase_getAllCompileCommands(database_);
  for (unsigned at = 0; at < clang_CompileCommands_getSize(commands); ++at) {
    const auto command = clang_CompileCommands_getCommand(commands, at);
    const fs::path name = text_of(clang_CompileCommand_getFilename(command));
    const fs::path folder = text_of(clang_CompileCommand_getDirectory(command));
    const auto path = (name.is_relative() ? folder / name : name).lexically_normal();
    const auto type = path.extension();
    if (type == ".c" || std::find(found.begin(), found.end(), path) != found.end()) continue;
    found.push_back(path);
  }
  clang_CompileCommands_dispose(commands);
  return found;
}

}  // namespace dlock_gen
