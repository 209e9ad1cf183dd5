// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string_view>

#include "dlock/store_interface/store_types.hpp"
#include "simulation/sql_execution.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

/// What a run does, for its digest: what is sent, what the server answers, and what callers get. Left out is what names
/// the machine, such as its host and process id, and the texts of messages.
void trace(world& in, std::string_view text) noexcept;
void trace(world& in, const id128& id) noexcept;
void trace(world& in, const seen& holder) noexcept;
void trace(world& in, const request& statement) noexcept;
void trace(world& in, session_verb action, const session_record& of) noexcept;
void trace(world& in, const reply& answer) noexcept;
void trace(world& in, const sql::call& statement) noexcept;

/// One number for many runs, in whatever order they were made: the sum of this over them.
std::uint64_t share_of(std::uint64_t seed, std::uint64_t digest) noexcept;

}  // namespace dlock::simulation
