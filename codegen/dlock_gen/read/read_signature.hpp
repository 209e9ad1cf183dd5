// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <set>
#include <string>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "read/declared_text.hpp"

namespace dlock_gen {

/// The templates that a specialisation of std::coroutine_traits makes a coroutine's result of, by their qualified
/// names.
std::set<std::string> coroutine_templates(const translation_unit& unit);

/// How `function` is called, and what its words are. `coroutines`: coroutine_templates().
signature read_signature(CXCursor function, const declared_text& text, const std::set<std::string>& coroutines);

}  // namespace dlock_gen
