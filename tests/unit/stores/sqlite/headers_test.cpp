// SPDX-License-Identifier: BSL-1.0
// The public header comes before all others: what it declares must hide nothing that the internal ones name.
#include "dlock/stores/sqlite.hpp"
//

#include "stores/sqlite/client/database.hpp"
#include "stores/sqlite/client/errors.hpp"
#include "stores/sqlite/lease_table/row_sql.hpp"
#include "stores/sqlite/lease_table/store.hpp"
#include "support/test.hpp"

TEST_CASE("sqlite headers: the public header may be included before the internal ones") {
  STATIC_REQUIRE(std::is_base_of_v<dlock::store, dlock::stores::sqlite::lease_table::sqlite_store>);
}
