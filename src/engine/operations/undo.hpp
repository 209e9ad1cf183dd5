// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/operations/flow.hpp"
#include "engine/registry/grant.hpp"

namespace dlock::engine {

/// Undoes an attempt without an answer, which may still run on `attempt.in_doubt` (rule 6): first that connection is
/// seen gone, then the attempt is cancelled by its session and nonce. Returns whether the attempt has certainly ended;
/// if it has not when `until` has come, the background goes on. `by`: a statement to reuse, which keeps only its times.
task<bool> undo(flow& f, statement& by, const grant& attempt, instant until);

}  // namespace dlock::engine
