// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "catalogue/facts.hpp"
#include "clang/translation_unit.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// Adds what a source says: annotated functions, bodies, and what calls what. Errors in annotations go to `out`.
void read_facts(const translation_unit& unit, code_facts& into, diagnostics& out);

}  // namespace dlock_gen
