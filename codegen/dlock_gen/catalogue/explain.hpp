// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "model/model.hpp"

namespace dlock_gen {

/// Describes for each annotated function of a header its keys and options, for a reader.
std::string explain(const header_model& header);

}  // namespace dlock_gen
