// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "checks/plan_lock.hpp"
#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// Whether a class can be generated for it at all.
bool check_kind(const class_model& owner, diagnostics& out);
/// Decides what the generated class is, by the options of the class and what the class allows, and says what keeps it
/// from that. Precondition: its functions have their locks.
void settle_form(class_model& owner, const class_plan& plan, diagnostics& out);

}  // namespace dlock_gen
