// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include "emit/code_writer.hpp"
#include "model/model.hpp"

namespace dlock_gen {

/// How the generated code reaches the object and the service of an annotated function.
struct surroundings {
  std::string locks{};       ///< the lock_service: "*dlock_locks_"
  std::string object{};      ///< a pointer to the object: "dlock_inner_", "this"; empty if there is none
  std::string class_name{};  ///< of the object, fully qualified
  bool wraps = false;        ///< the object is not the generated one itself
};

/// The name of the generated member or parameter for a database.
std::string database_member(const std::string& name);
std::string database_parameter(const std::string& name);

/// The call of the object's `name` with the arguments of `function`: "dlock_inner_->place(o, buyer)".
std::string call_of(const function_model& function, const std::string& name, const surroundings& around);

/// Whether a result that DLOCK_ON_BUSY(skip) leaves empty has the type of the function's own result.
bool keeps_result(const function_model& function);
/// Whether DLOCK_ON_BUSY(skip) gives the generated function another type of result.
bool changes_result(const function_model& function);

/// Writes the code that runs an annotated function under its lock: the lines between the braces.
void emit_locked_body(code_writer& to, const function_model& function, const surroundings& around);

/// The generated class of an annotated one.
void emit_class(code_writer& to, const class_model& from);

/// "::odb::database& dlock_db, " for each of them.
std::string database_parameters(const std::vector<std::string>& databases, bool comma_behind);

/// "const ::dlock::lock_key dlock_key = ...;", or dlock_keys of several.
void emit_keys(code_writer& to, const lock_plan& lock, const surroundings& around);

/// Writes an expression for a value, on separate lines. `key_text` is for the message about a null pointer in it.
void emit_path(code_writer& to, const value_path& path, const std::string& key_text, const surroundings& around);

}  // namespace dlock_gen
