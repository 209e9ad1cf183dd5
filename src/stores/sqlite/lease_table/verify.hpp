// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Statements about a grant of ours for transactions of the application's.

#include "dlock/store_interface/store_types.hpp"
#include "dlock/store_interface/verification.hpp"
#include "stores/sql/row_owner.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sqlite::lease_table {

/// Changes the lock row or the row in place, if it is still ours.
verification sqlite_verification(const request& grant, const sql::table_names& names, sql::tables_id tables);
/// Frees it.
verification sqlite_release(const request& grant, const sql::table_names& names, sql::tables_id tables);

}  // namespace dlock::stores::sqlite::lease_table
