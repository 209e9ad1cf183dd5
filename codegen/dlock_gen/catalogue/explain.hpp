// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "model/model.hpp"

namespace dlock_gen {

/// For each annotated function of a header: its keys and the options in force, for a reader.
std::string explain(const header_model& header);

}  // namespace dlock_gen
