// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "stores/mysql/client/settings.hpp"
#include "stores/sql/schema.hpp"

namespace dlock::stores::mysql::lease_table {

/// The same with what a mysql:// URL says of the lock tables.
struct lease_settings : mysql_settings {
  sql::schema_mode schema = sql::schema_mode::create;
  std::string prefix{};
  bool wake = true;  ///< a release wakes a waiter

  /// Throws std::invalid_argument naming the parameter and its value.
  static lease_settings parse(store_url url) {
    lease_settings settings{mysql_settings::take(url)};
    settings.schema = sql::parse_schema_mode(url.take_param("schema", "create"));
    settings.prefix = url.take_param("prefix", std::string(sql::table_names::default_prefix));
    const auto wake = url.take_param("wake", "on");
    if (wake != "on" && wake != "off") throw std::invalid_argument("dlock: wake=" + wake + " is not on or off");
    settings.wake = wake == "on";
    url.expect_no_more_params();
    return settings;
  }
};

}  // namespace dlock::stores::mysql::lease_table
