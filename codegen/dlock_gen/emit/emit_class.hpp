// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include "emit/code_writer.hpp"
#include "model/model.hpp"

namespace dlock_gen {

/// The generated class of an annotated one.
void emit_class(code_writer& to, const class_model& from);

/// "::odb::database& dlock_db, ", for each of them.
std::string database_parameters(const std::vector<std::string>& databases, bool comma_behind);

}  // namespace dlock_gen
