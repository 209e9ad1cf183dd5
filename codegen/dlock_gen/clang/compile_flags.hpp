// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <clang-c/CXCompilationDatabase.h>

#include <filesystem>
#include <string>
#include <vector>

namespace dlock_gen {

/// Keeps those of a compiler's arguments that affect the meaning of a source: include folders, macros, the standard,
/// the language. Drops those about warnings, optimisation or output, which may be for another compiler. The standard is
/// C++20 unless they name one. Makes relative folders absolute from `folder`.
std::vector<std::string> useful_flags(const std::vector<std::string>& arguments, const std::filesystem::path& folder);

/// The version of libclang: "14.0.6".
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

  /// useful_flags() of the command that compiles `file`, or for a header, of the source with the most similar name.
  std::vector<std::string> flags_of(const std::filesystem::path& file) const;
  /// All sources that it compiles, each once.
  std::vector<std::filesystem::path> files() const;

 private:
  CXCompilationDatabase database_ = nullptr;
};

}  // namespace dlock_gen
