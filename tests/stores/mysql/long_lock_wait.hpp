// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <catch2/catch_test_macros.hpp>

#include "dlock/store/store.hpp"
#include "stores/mysql/client/connection.hpp"

namespace dlock::test {

/// Statements on this connection wait for a locked row or table for 20 s, and not for one: that one of them did shows, however
/// busy the machine is.
inline void wait_long_for_locks(connection& on) {
  fault why;
  auto& native = static_cast<stores::mysql::mysql_connection&>(on);
  const auto sql = "SET SESSION innodb_lock_wait_timeout=20, SESSION lock_wait_timeout=20";
  REQUIRE(native.query(sql, "", nullptr, nullptr, why) == outcome::yes);
}

}  // namespace dlock::test
