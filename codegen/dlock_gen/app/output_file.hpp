// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace dlock_gen {

struct cannot_write : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes a whole file. `keep_unchanged`: does not write if the file has that text. Throws cannot_write.
void write_file(const std::filesystem::path& file, const std::string& text, bool keep_unchanged);

/// A rule for make, by which `target` is made again when one of `sources` changes.
std::string make_rule(const std::filesystem::path& target, const std::vector<std::filesystem::path>& sources);

}  // namespace dlock_gen
