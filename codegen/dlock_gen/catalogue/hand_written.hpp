// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <clang-c/Index.h>

#include <optional>

#include "catalogue/facts.hpp"
#include "clang/translation_unit.hpp"

namespace dlock_gen {

/// The lock that a call of dlock takes: acquire(), with_lock(), a macro, lock_row() and the like. Its keys come from
/// the words of the call; "?" is a key that they don't show.
std::optional<listed_lock> read_hand_written(const translation_unit& unit, CXCursor call, CXCursor callee);

/// Whether such a call holds its lock only for a function that it calls: with_lock(), locked().
bool runs_a_function(CXCursor callee);

}  // namespace dlock_gen
