// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <string>

#include "model/model.hpp"

namespace dlock_gen {

/// The generated header. `file` is its path, for #line. Precondition: check_header() has found no errors.
std::string emit_header(const header_model& header, const std::filesystem::path& file);

}  // namespace dlock_gen
