// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <vector>

#include "annotations/annotation.hpp"
#include "annotations/options.hpp"
#include "model/model.hpp"
#include "source/diagnostics.hpp"

namespace dlock_gen {

/// The annotations of a class for all its functions.
struct class_plan {
  std::vector<option> options{};
  busy_plan busy{};
  std::vector<annotation> verified{};
};

class_plan plan_class(const std::vector<annotation>& annotations, diagnostics& out);

/// Reads the annotations of a function together with those of its class, and checks each of them. Sets `function.lock`
/// if they can be understood. `header` has the known rows.
void plan_function(function_model& function, const class_plan& of_class, const header_model& header, diagnostics& out);

}  // namespace dlock_gen
