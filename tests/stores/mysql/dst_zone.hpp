// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

#include "support/mysql_fixture.hpp"

namespace dlock::test {

/// A time zone with the rules of Berlin in 2024, known to the test's server from now on: servers are often without any
/// but offsets, which have no daylight saving time.
struct dst_zone {
  static constexpr const char* name = "dlock/berlin";
  static constexpr std::int64_t to_summer = 1'711'846'800;  ///< 2024-03-31 01:00 UTC: 02:00 becomes 03:00
  static constexpr std::int64_t to_winter = 1'729'990'800;  ///< 2024-10-27 01:00 UTC: 03:00 becomes 02:00 once more

  dst_zone() {
    auto root = raw_mysql::root();
    if (root.one(std::string("SELECT COUNT(*) FROM mysql.time_zone_name WHERE Name='") + name + "'") != "0") return;
    root.run("INSERT INTO mysql.time_zone (Use_leap_seconds) VALUES ('N')");
    const auto id = root.one("SELECT LAST_INSERT_ID()");
    const auto add = [&](const std::string& table, const std::string& columns, const std::string& values) {
      root.run("INSERT INTO mysql.time_zone_" + table + " (Time_zone_id, " + columns + ") VALUES (" + id + ", " +
               values + ")");
    };
    add("transition_type", "Transition_type_id, `Offset`, Is_DST, Abbreviation", "0, 3600, 0, 'CET'");
    add("transition_type", "Transition_type_id, `Offset`, Is_DST, Abbreviation", "1, 7200, 1, 'CEST'");
    add("transition", "Transition_time, Transition_type_id", std::to_string(to_summer) + ", 1");
    add("transition", "Transition_time, Transition_type_id", std::to_string(to_winter) + ", 0");
    add("name", "Name", std::string("'") + name + "'");
  }
};

}  // namespace dlock::test
