// SPDX-License-Identifier: BSL-1.0
#include "app/output_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

namespace dlock_gen {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> text_of_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Escapes a name for make.
std::string escaped(const fs::path& file) {
  std::string all;
  for (const char c : file.generic_string()) {
    if (c == ' ' || c == '#') all += '\\';
    if (c == '$') all += '$';
    all += c;
  }
  return all;
}

}  // namespace

void write_file(const fs::path& file, const std::string& text, bool keep_unchanged) {
  if (keep_unchanged && text_of_file(file) == text) return;
  std::error_code failed;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), failed);
  // An interrupted build must not leave an incomplete file.
  const fs::path beside = file.string() + ".part";
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out << text;
    if (!out.flush()) throw cannot_write(fmt::format("{} can't be written", file.string()));
  }
  fs::rename(beside, file, failed);
  if (failed) throw cannot_write(fmt::format("{} can't be written: {}", file.string(), failed.message()));
}

std::string make_rule(const fs::path& target, const std::vector<fs::path>& sources) {
  auto all = escaped(target) + ":";
  const auto made = fs::absolute(target).lexically_normal();
  for (const auto& each : sources) {
    if (fs::absolute(each).lexically_normal() != made) all += " \\\n  " + escaped(each);  // a header may include it
  }
  return all + "\n";
}

}  // namespace dlock_gen
