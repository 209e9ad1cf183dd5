// SPDX-License-Identifier: BSL-1.0
#include "clang/compile_flags.hpp"

#include <clang-c/Index.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "clang/cursor.hpp"
#include "clang/translation_unit.hpp"

namespace dlock_gen {

namespace {

namespace fs = std::filesystem;

/// Options with a value, in the same argument or in the next one.
constexpr std::array<std::string_view, 10> with_folder{"-I",           "-isystem",         "-iquote",   "-idirafter",
                                                       "-F",           "-iframework",      "-isysroot", "--sysroot",
                                                       "-cxx-isystem", "-stdlib++-isystem"};
constexpr std::array<std::string_view, 2> with_word{"-D", "-U"};
/// Options with a value that is dropped with them.
constexpr std::array<std::string_view, 9> dropped_with_value{"-o", "-MF",   "-MT",     "-MQ",        "-include-pch",
                                                             "-x", "-arch", "-Xclang", "-Xassembler"};
constexpr std::array<std::string_view, 12> kept{"-fno-exceptions", "-fexceptions",    "-fno-rtti",
                                                "-frtti",          "-fchar8_t",       "-fno-char8_t",
                                                "-fshort-enums",   "-fsigned-char",   "-funsigned-char",
                                                "-fms-extensions", "-fcoroutines-ts", "-fsized-deallocation"};
constexpr std::array<std::string_view, 7> kept_prefixes{
    "-std=", "--std=", "-stdlib=", "--target=", "-nostdinc", "--gcc-toolchain=", "-m"};

template <class List>
bool contains(const List& list, std::string_view what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

class flag_filter {
 public:
  flag_filter(const std::vector<std::string>& from, const fs::path& folder) : from_(from), folder_(folder) {}

  std::vector<std::string> run() {
    while (at_ < from_.size()) take(from_[at_++]);
    const auto has = [&](std::string_view what) {
      return std::any_of(found_.begin(), found_.end(), [&](const auto& each) { return each.starts_with(what); });
    };
    if (!has("-std=") && !has("--std=")) found_.emplace_back("-std=c++20");
    return std::move(found_);
  }

 private:
  void take(const std::string& argument) {
    for (const auto option : with_folder) {
      if (take_with_value(argument, option, true)) return;
    }
    for (const auto option : with_word) {
      if (take_with_value(argument, option, false)) return;
    }
    if (argument == "-include" && at_ < from_.size()) {
      take_include(from_[at_++]);
    } else if (contains(dropped_with_value, argument)) {
      ++at_;
    } else if (contains(kept, argument) ||
               std::any_of(kept_prefixes.begin(), kept_prefixes.end(),
                           [&](const auto prefix) { return argument.starts_with(prefix); })) {
      found_.push_back(argument);
    }
  }
  bool take_with_value(const std::string& argument, std::string_view option, bool is_folder) {
    if (!argument.starts_with(option)) return false;
    auto value = argument.substr(option.size());
    const bool equals = option == "--sysroot" && value.starts_with("=");
    if (equals) value.erase(0, 1);
    if (value.empty() && at_ < from_.size()) value = from_[at_++];
    if (is_folder && fs::path(value).is_relative()) value = (folder_ / value).lexically_normal().string();
    found_.emplace_back(option);
    if (equals) {
      found_.back() += "=" + value;
    } else if (option.size() == 2) {
      found_.back() += value;
    } else {
      found_.push_back(value);
    }
    return true;
  }
  /// CMake's precompiled headers are another compiler's, and a source itself includes what they include.
  void take_include(const std::string& header) {
    if (fs::path(header).filename().string().starts_with("cmake_pch")) return;
    found_.emplace_back("-include");
    found_.push_back(fs::path(header).is_relative() ? (folder_ / header).lexically_normal().string() : header);
  }

  const std::vector<std::string>& from_;
  const fs::path& folder_;
  std::size_t at_ = 0;
  std::vector<std::string> found_{};
};

}  // namespace

std::vector<std::string> useful_flags(const std::vector<std::string>& arguments, const fs::path& folder) {
  return flag_filter(arguments, folder).run();
}

std::string clang_version() {
  const auto text = text_of(clang_getClangVersion());
  constexpr std::string_view before = "version ";
  const auto at = text.find(before);
  if (at == std::string::npos) return {};
  const auto begin = at + before.size();
  return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
}

std::vector<std::string> resource_flags() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&clang_createIndex), &library) == 0 || library.dli_fname == nullptr)
    return {};
  std::error_code failed;
  const auto file = fs::canonical(library.dli_fname, failed);
  if (failed) return {};
  const auto version = clang_version();
  for (const auto& name : {version, version.substr(0, version.find('.'))}) {
    const auto folder = file.parent_path() / "clang" / name;
    if (fs::exists(folder / "include" / "stddef.h", failed)) return {"-resource-dir", folder.string()};
  }
  return {};
}

std::vector<fs::path> include_folders(const std::vector<std::string>& flags) {
  std::vector<fs::path> first;
  std::vector<fs::path> others;
  for (std::size_t at = 0; at < flags.size(); ++at) {
    if (flags[at].starts_with("-I") && flags[at].size() > 2) {
      first.emplace_back(flags[at].substr(2));
    } else if ((flags[at] == "-isystem" || flags[at] == "-iquote") && at + 1 < flags.size()) {
      others.emplace_back(flags[at + 1]);
    }
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

// ---- compile_commands.json -----------------------------------------------------------------------------------------

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
