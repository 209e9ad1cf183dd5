// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// A header that was read, and its model. If `messages` has errors, the model must not be used.
struct checked_header {
  std::unique_ptr<translation_unit> unit{};  ///< locations refer to its files
  header_model model{};
  diagnostics messages{};

  bool good() const noexcept { return messages.errors() == 0; }
};

/// `output` is the generated file, or empty. Throws cannot_read.
checked_header read_and_check(const std::filesystem::path& file, const std::vector<std::string>& flags,
                              const std::filesystem::path& output);

}  // namespace dlock_gen
