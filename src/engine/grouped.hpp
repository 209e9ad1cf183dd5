// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <span>

#include "dlock/store/store.hpp"

namespace dlock::detail {

/// Sends requests of one verb for keys and rows, mixed and in any order, no resource twice, as a store wants them: the
/// keys in one batch, the rows of each table in one. One reply for each. What comes after the connection broke is not
/// sent. Returns how many statements that took.
unsigned execute_grouped(store& where, connection& on, std::span<const request> asks, std::span<reply> replies);

}  // namespace dlock::detail
