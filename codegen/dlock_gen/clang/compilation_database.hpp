// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <clang-c/CXCompilationDatabase.h>

#include <filesystem>
#include <string>
#include <vector>

namespace dlock_gen {

/// A compile_commands.json.
class compilation_database {
 public:
  /// Throws cannot_read.
  explicit compilation_database(const std::filesystem::path& folder);
  ~compilation_database();
  compilation_database(const compilation_database&) = delete;
  compilation_database& operator=(const compilation_database&) = delete;

  /// useful_flags() of the command that compiles `file`; of a header, which none compiles, those of the source that is
  /// most like it.
  std::vector<std::string> flags_of(const std::filesystem::path& file) const;
  /// All sources that it compiles, each once.
  std::vector<std::filesystem::path> files() const;

 private:
  CXCompilationDatabase database_ = nullptr;
};

}  // namespace dlock_gen
