// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <vector>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// The annotated classes and functions that the main file declares, in its order. Says where an annotation stands that
/// belongs to nothing which can be locked.
header_model read_header(const translation_unit& unit, diagnostics& out);
/// The same of all files that were read but those of the system. Of misplaced annotations it says nothing.
header_model read_all_headers(const translation_unit& unit);

/// The functions outside of classes that a DLOCK_ON_BUSY(call, ...) of the header names.
std::vector<function_model> read_candidates(const translation_unit& unit, const header_model& header);

/// Of macros that stand where an attribute can't: before "template", or above a class. Said before the compiler says it
/// in its own words; whether there are any.
bool report_misplaced_macros(const translation_unit& unit, diagnostics& out);

}  // namespace dlock_gen
