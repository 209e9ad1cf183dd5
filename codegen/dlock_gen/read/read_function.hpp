// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "read/declared_text.hpp"
#include "read/name_lookup.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

bool is_function(CXCursor cursor);  ///< of any kind, templates too

/// Of a member, or of what a base class is inherited by.
visibility visibility_of(CXCursor member);

/// The namespaces that an entity is in, the outermost first.
std::vector<scope> scopes_of(CXCursor entity);

/// `target`: the namespaces in which it is written once more. `names`: what its parameters are called there; none: as
/// here.
function_model read_function(const translation_unit& unit, CXCursor function, const std::vector<scope>& target,
                             const std::set<std::string>& coroutines, const std::vector<std::string>& names = {});

/// A class and all functions that its objects have: its own and those of its bases. One that is overridden is there
/// once, as the nearest class declares it, with the annotations of the nearest that has some.
class_model read_class(const translation_unit& unit, CXCursor definition, const std::set<std::string>& coroutines,
                       name_lookup& names);

/// Whether the class, or a function that it declares itself, has an annotation.
bool is_annotated(const translation_unit& unit, CXCursor definition);

/// The templates that a specialisation of std::coroutine_traits makes a coroutine's result of, by their qualified
/// names.
std::set<std::string> coroutine_templates(const translation_unit& unit);

/// How `function` is called, and what its words are. `coroutines`: coroutine_templates().
signature read_signature(CXCursor function, const declared_text& text, const std::set<std::string>& coroutines);

}  // namespace dlock_gen
