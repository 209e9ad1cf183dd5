// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <set>
#include <string>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// A class and all functions that its objects have: its own and those of its bases. One that is overridden is there
/// once, as the nearest class declares it, with the annotations of the nearest that has some.
class_model read_class(const translation_unit& unit, CXCursor definition, const std::set<std::string>& coroutines);

/// Whether the class, or a function that it declares itself, has an annotation.
bool is_annotated(const translation_unit& unit, CXCursor definition);

}  // namespace dlock_gen
