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

/// The access of a member, or of a base class.
visibility visibility_of(CXCursor member);

/// The namespaces that an entity is in, the outermost first.
std::vector<scope> scopes_of(CXCursor entity);

/// `target` are the namespaces in which it is written once more. `names` are the parameters' names there; none keeps
/// theirs.
function_model read_function(const translation_unit& unit, CXCursor function, const std::vector<scope>& target,
                             const std::set<std::string>& coroutines, const std::vector<std::string>& names = {});

/// A class and all functions of its objects: its own and those of its bases. An overridden one is included once, as the
/// nearest class declares it, with the annotations of the nearest class that has some.
class_model read_class(const translation_unit& unit, CXCursor definition, const std::set<std::string>& coroutines,
                       name_lookup& names);

/// Whether the class, or a function that it declares itself, has an annotation.
bool is_annotated(const translation_unit& unit, CXCursor definition);

/// The templates that a specialisation of std::coroutine_traits makes a coroutine's result of, by their qualified
/// names.
std::set<std::string> coroutine_templates(const translation_unit& unit);

/// The signature of `function`. `coroutines` are those of coroutine_templates().
signature read_signature(CXCursor function, const declared_text& text, const std::set<std::string>& coroutines);

}  // namespace dlock_gen
