// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <vector>

#include "dlock/store_interface/store_overview.hpp"
#include "stores/sqlite/lease_table/connection.hpp"

namespace dlock::stores::sqlite::lease_table {

/// Examines the file and its lock tables for `dlock doctor`. Cost: some statements.
reply examine_file(lease_connection& with, std::vector<store_finding>& found);

}  // namespace dlock::stores::sqlite::lease_table
