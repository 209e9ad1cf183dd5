// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "exit_code.hpp"
#include "options.hpp"

namespace dlock::command {

/// One function for each verb. They print their answer, and throw what the store throws.
int run(const all_options& options);
int list(const all_options& options);
int show(const all_options& options);
int waiters(const all_options& options);
int done(const all_options& options);
int force(const all_options& options);
int watch(const all_options& options);
int top(const all_options& options);
int doctor(const all_options& options);
int schema(const all_options& options);
int gc(const all_options& options);
int bench(const all_options& options);
int timeline(const all_options& options);

inline int code(exit_code of) noexcept { return static_cast<int>(of); }

}  // namespace dlock::command
