// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <vector>

#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// Whether an annotated function is one that can be locked at all.
bool check_kind(const function_model& function, diagnostics& out);
/// Whether what its annotations ask for goes together with what it is. `owner`: its class, or null. `others`: functions
/// that DLOCK_ON_BUSY(call, ...) may name.
void check_lock(const function_model& function, const class_model* owner, const std::vector<function_model>& others,
                diagnostics& out);

}  // namespace dlock_gen
