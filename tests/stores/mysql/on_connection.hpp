// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contract/store/store_contract.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/mysql/client/connection.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Runs a statement on dlock's own connection, which users never do.
inline void run_on(connection& on, const std::string& sql) {
  fault why;
  auto& native = static_cast<stores::mysql::mysql_connection&>(on);
  REQUIRE(native.query(sql, "", nullptr, nullptr, why) == outcome::yes);
}

/// Statements on this connection wait for a locked row or table for so long, and not for a second: that one of them did
/// shows, however busy the machine is.
inline void wait_long_for_locks(connection& on, int seconds = 20) {
  const auto time = std::to_string(seconds);
  run_on(on, "SET SESSION innodb_lock_wait_timeout=" + time + ", SESSION lock_wait_timeout=" + time);
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

/// Takes of these keys in one batch, with nonces that count up from `nonce`.
inline std::vector<reply> take_all(actor& who, const std::vector<std::string>& keys, std::uint64_t nonce) {
  std::vector<request> asked;
  for (const auto& key : keys) {
    asked.push_back({.action = verb::take, .resource = key, .session = who.id, .nonce = nonce++});
  }
  return who.run(asked);
}

}  // namespace dlock::test
