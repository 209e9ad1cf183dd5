// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"

namespace dlock_gen {

bool is_function(CXCursor cursor);  ///< of any kind, templates too

/// The namespaces that an entity is in, the outermost first.
std::vector<scope> scopes_of(CXCursor entity);

/// `target`: the namespaces in which it is written once more.
function_model read_function(const translation_unit& unit, CXCursor function, const std::vector<scope>& target,
                             const std::set<std::string>& coroutines);

}  // namespace dlock_gen
