// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dlock/store_interface/store.hpp"
#include "stores/mysql/client/connection.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Statements on this connection wait for a locked row or table for so long, and not for a second: that one of them did
/// shows, however busy the machine is.
inline void wait_long_for_locks(connection& on, int seconds = 20) {
  fault why;
  auto& native = static_cast<stores::mysql::mysql_connection&>(on);
  const auto time = std::to_string(seconds);
  const auto sql = "SET SESSION innodb_lock_wait_timeout=" + time + ", SESSION lock_wait_timeout=" + time;
  REQUIRE(native.query(sql, "", nullptr, nullptr, why) == outcome::yes);
}

/// What the call returns, whose statements on this connection meet a locked row; a failure if they wait for it.
template <class Call>
auto without_waiting(connection& on, Call&& call) {
  wait_long_for_locks(on);
  const auto began = std::chrono::steady_clock::now();
  auto result = call();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{15});
  return result;
}

}  // namespace dlock::test
