// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "emit/code_writer.hpp"
#include "emit/emit_function.hpp"
#include "model/model.hpp"

namespace dlock_gen {

/// "const ::dlock::lock_key dlock_key = ...;", or dlock_keys of several.
void emit_keys(code_writer& to, const lock_plan& lock, const surroundings& around);

/// An expression that names a value, on separate lines. `key_text`: for the message where a pointer in it is null.
void emit_path(code_writer& to, const value_path& path, const std::string& key_text, const surroundings& around);

}  // namespace dlock_gen
