// SPDX-License-Identifier: BSL-1.0
#include "app/checked_header.hpp"

#include <algorithm>
#include <system_error>

#include "checks/check_header.hpp"
#include "clang/compile_flags.hpp"
#include "read/read_header.hpp"

namespace dlock_gen {

namespace {

namespace fs = std::filesystem;

/// How a source includes the header: from the first of the include folders that it is in, or by its name alone.
std::string include_name(const fs::path& file, const std::vector<std::string>& flags) {
  const auto path = fs::absolute(file).lexically_normal();
  for (const auto& folder : include_folders(flags)) {
    const auto relative = path.lexically_relative(fs::absolute(folder).lexically_normal()).generic_string();
    if (!relative.empty() && !relative.starts_with("..")) return relative;
  }
  return path.filename().string();
}

}  // namespace

checked_header read_and_check(const fs::path& file, const std::vector<std::string>& flags, const fs::path& output) {
  checked_header made;
  made.unit = std::make_unique<translation_unit>(parse_request{.file = file, .flags = flags, .empty = output});
  auto& messages = made.messages;
  if (report_misplaced_macros(*made.unit, messages) || made.unit->report(messages)) return made;
  made.model = read_header(*made.unit, messages);
  made.model.include_as = include_name(file, flags);
  check_header(made.model, read_candidates(*made.unit, made.model), messages);
  return made;
}

}  // namespace dlock_gen
