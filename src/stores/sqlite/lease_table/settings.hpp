// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "stores/sql/schema.hpp"
#include "stores/sqlite/client/settings.hpp"

namespace dlock::stores::sqlite::lease_table {

/// The same with what an sqlite: URL says of the lock tables.
struct lease_settings : sqlite_settings {
  sql::schema_mode schema = sql::schema_mode::create;
  std::string prefix{};
  bool wake = true;  ///< a waiter sleeps until a release wakes it

  /// Throws std::invalid_argument.
  static lease_settings parse(store_url url) {
    lease_settings settings{sqlite_settings::take(url)};
    settings.schema = sql::parse_schema_mode(url.take_param("schema", "create"));
    settings.prefix = url.take_param("prefix", std::string(sql::table_names::default_prefix));
    const auto wake = url.take_param("wake", "on");
    if (wake != "on" && wake != "off") throw std::invalid_argument("dlock: wake=" + wake + " is not on or off");
    settings.wake = wake == "on";
    url.expect_no_more_params();
    return settings;
  }
};

}  // namespace dlock::stores::sqlite::lease_table
