// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <clang-c/CXCompilationDatabase.h>

#include <filesystem>
#include <string>
#include <vector>

namespace dlock_gen {

/// Of a compiler's arguments those that say what a source means: include folders, macros, the standard, the language.
/// What is about warnings, optimisation or output is left out: another compiler than ours may have got them. Standard
/// C++20 unless they name one. Relative folders are made absolute from `folder`.
std::vector<std::string> useful_flags(const std::vector<std::string>& arguments, const std::filesystem::path& folder);

/// Of libclang: "14.0.6".
std::string clang_version();

/// The folder of the compiler's own headers that belongs to the libclang in use, as arguments; none if it finds them
/// itself.
std::vector<std::string> resource_flags();

/// The include folders among flags, first -I, then the others.
std::vector<std::filesystem::path> include_folders(const std::vector<std::string>& flags);

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
