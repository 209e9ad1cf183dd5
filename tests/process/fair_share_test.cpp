// SPDX-License-Identifier: BSL-1.0
// Processes that want one key all the time.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>
#include <vector>

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"
#include "support/eventually.hpp"

using namespace std::chrono_literals;

namespace dlock::test {

TEST_CASE("process: of several that loop over one key none is left out", "[crash][T33]") {
  const auto fixture = make_store_fixture();
  lock_service locks(fixture->url());
  locks.acquire("key").release();
  std::vector<taker> all;
  for (int i = 0; i != 4; ++i) all.emplace_back(fixture->url());
  for (auto& each : all) each.ask("loop", "looping");
  std::vector<unsigned long> loops;
  // Each gets a tenth of what the luckiest gets. It is no matter of seconds, but of how often the key changed hands.
  const auto fair = [&] {
    std::this_thread::sleep_for(100ms);  // asking must not be all that they do
    loops.clear();
    for (auto& each : all) {
      const auto words = each.ask("looped", "looped");
      REQUIRE(words.at(2) == "0");  // nobody gave up
      loops.push_back(std::stoul(words.at(1)));
    }
    const auto [least, most] = std::minmax_element(loops.begin(), loops.end());
    return *least > 0 && *least * 10 >= *most && *most >= 400;
  };
  const bool was_fair = eventually(fair, 60s);
  for (const auto each : loops) UNSCOPED_INFO(each);
  CHECK(was_fair);
}

}  // namespace dlock::test
