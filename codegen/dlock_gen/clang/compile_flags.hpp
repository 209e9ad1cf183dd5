// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dlock_gen {

/// Of a compiler's arguments those that say what a source means: include folders, macros, the standard, the language.
/// What is about warnings, optimisation or output is left out: another compiler than ours may have got them. Standard
/// C++20 unless they name one. Relative folders are made absolute from `folder`.
std::vector<std::string> useful_flags(const std::vector<std::string>& arguments, const std::filesystem::path& folder);

/// The folder of the compiler's own headers that belongs to the libclang in use, as arguments; none if it finds them
/// itself.
std::vector<std::string> resource_flags();

/// The include folders among flags, first -I, then the others.
std::vector<std::filesystem::path> include_folders(const std::vector<std::string>& flags);

}  // namespace dlock_gen
