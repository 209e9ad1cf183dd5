// SPDX-License-Identifier: BSL-1.0
#include <catch2/catch_test_macros.hpp>

#include "contract/store_fixture.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"

namespace dlock::test {

TEST_CASE("process: a forked child is refused the SQLite file that its parent has open, and harms nobody",
          "[crash][sqlite][T47]") {
  const auto fixture = make_store_fixture();
  taker parent(fixture->url());
  const auto mine = parent.take();
  CHECK(parent.ask("fork own", "child") == std::vector<std::string>{"child", "0"});
  CHECK(parent.expect("child-error").at(1) == "store_failed");
  CHECK_FALSE(parent.said("child-held"));
  CHECK(parent.ask("check", "trusted").size() == 2);
  CHECK(parent.ask("release", "released").size() == 1);
  CHECK(parent.take().fence == mine.fence + 1);
}

}  // namespace dlock::test
