// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <vector>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// The annotated classes and functions that the main file declares, in its order. Reports annotations of anything that
/// can't be locked.
header_model read_header(const translation_unit& unit, diagnostics& out);
/// The same for all files that were read, except the system's. Does not report misplaced annotations.
header_model read_all_headers(const translation_unit& unit);

/// The functions outside of classes that a DLOCK_ON_BUSY(call, ...) of the header names.
std::vector<function_model> read_candidates(const translation_unit& unit, const header_model& header);

/// Reports macros at places where an attribute can't be, before "template" or above a class, before the compiler does
/// it in its own words. Returns whether there are any.
bool report_misplaced_macros(const translation_unit& unit, diagnostics& out);

}  // namespace dlock_gen
