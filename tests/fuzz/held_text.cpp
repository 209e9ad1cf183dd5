// SPDX-License-Identifier: BSL-1.0
// What waiters write of the locks that they hold: a column of the waiter table, from which others find deadlocks.

#include <map>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "stores/sql/deadlock_cycles.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace sql = dlock::stores::sql;
  // Two waiters of one input, so that one can wait for what the other one claims to hold.
  const auto text = fuzz::text_of(data, size);
  const auto half = text.size() / 2;
  std::vector<sql::nested_waiter> waiters;
  std::map<std::string, sql::present_grant> grants;
  for (const auto part : {text.substr(0, half), text.substr(half)}) {
    sql::nested_waiter one;
    one.process = waiters.empty() ? "p1" : "p2";
    one.waits_for = waiters.empty() || waiters[0].held.empty() ? "k" : std::string(waiters[0].held[0].key);
    if (!sql::read_held(part, one)) continue;
    for (const auto& held : one.held) grants[std::string(held.key)] = {};
    waiters.push_back(std::move(one));
  }
  static_cast<void>(sql::find_cycles(waiters, grants, "p1"));
  return 0;
}
