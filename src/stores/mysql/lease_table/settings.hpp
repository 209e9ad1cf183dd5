// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "stores/mysql/client/settings.hpp"
#include "stores/sql/schema.hpp"

namespace dlock::stores::mysql::lease_table {

/// What a mysql:// URL says.
struct lease_settings : mysql_settings, sql::lock_table_settings {
  /// Throws std::invalid_argument naming the parameter and its value.
  static lease_settings parse(store_url url) {
    lease_settings settings{mysql_settings::take(url), sql::lock_table_settings::take(url)};
    url.expect_no_more_params();
    return settings;
  }
};

}  // namespace dlock::stores::mysql::lease_table
