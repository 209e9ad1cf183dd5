// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <vector>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// Reads all annotations, checks whether what they ask for can be generated, and completes the model: locks, the form
/// of the generated classes, their databases. `candidates`: functions that DLOCK_ON_BUSY(call, ...) of a free function
/// may name.
void check_header(header_model& header, const std::vector<function_model>& candidates, diagnostics& out);

}  // namespace dlock_gen
