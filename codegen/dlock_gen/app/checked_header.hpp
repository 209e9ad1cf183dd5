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

/// A header that was read, and its model. What is wrong with it is in `messages`; then the model is not to be used.
struct checked_header {
  std::unique_ptr<translation_unit> unit{};  ///< locations are in its files
  header_model model{};
  diagnostics messages{};

  bool good() const noexcept { return messages.errors() == 0; }
};

/// `output`: what is generated for it, or empty. Throws cannot_read.
checked_header read_and_check(const std::filesystem::path& file, const std::vector<std::string>& flags,
                              const std::filesystem::path& output);

}  // namespace dlock_gen
