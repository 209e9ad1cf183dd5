// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "stores/sql/schema.hpp"
#include "stores/sqlite/client/settings.hpp"

namespace dlock::stores::sqlite::lease_table {

/// What an sqlite: URL says.
struct lease_settings : sqlite_settings, sql::lock_table_settings {
  /// Throws std::invalid_argument naming the parameter and its value.
  static lease_settings parse(store_url url) {
    lease_settings settings{sqlite_settings::take(url), sql::lock_table_settings::take(url)};
    url.expect_no_more_params();
    return settings;
  }
};

}  // namespace dlock::stores::sqlite::lease_table
