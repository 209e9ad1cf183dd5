// SPDX-License-Identifier: BSL-1.0
// The public header comes before all others: what it declares must hide nothing that the internal ones name.
#include "dlock/stores/mysql.hpp"
//

#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/factory.hpp"
#include "stores/mysql/lease_table/row_sql.hpp"
#include "stores/mysql/lease_table/store.hpp"
#include "support/test.hpp"

TEST_CASE("mysql headers: the public header may be included before the internal ones") {
  STATIC_REQUIRE(std::is_base_of_v<dlock::store, dlock::stores::mysql::lease_table::mysql_store>);
}
