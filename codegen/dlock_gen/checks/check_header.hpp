// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <vector>

#include "checks/plan_lock.hpp"
#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// Whether a class can be generated for it at all.
bool check_kind(const class_model& owner, diagnostics& out);
/// Decides the form of the generated class, by the class and its options.
void settle_form(class_model& owner, const class_plan& plan);
/// Reports what prevents that form.
void check_form(const class_model& owner, diagnostics& out);
/// Whether an annotated function is one that can be locked at all.
bool check_kind(const function_model& function, diagnostics& out);
/// Reports an error of a function of a class, at its annotations or its name; if another file declares it, at the
/// class. `text` follows its name.
void refuse_function(const function_model& function, const class_model& owner, const std::string& text,
                     diagnostics& out);
/// Checks whether its annotations fit the function. `owner` is its class, or null. `others` are functions that
/// DLOCK_ON_BUSY(call, ...) may name.
void check_lock(const function_model& function, const class_model* owner, const std::vector<function_model>& others,
                diagnostics& out);

/// Reads all annotations, checks whether what they ask for can be generated, and completes the model: locks, the form
/// of the generated classes, their databases. `candidates`: functions that DLOCK_ON_BUSY(call, ...) of a free function
/// may name.
void check_header(header_model& header, const std::vector<function_model>& candidates, diagnostics& out);

}  // namespace dlock_gen
