// SPDX-License-Identifier: BSL-1.0

/// Names that can't be looked up.

#include <fmt/format.h>

#include "dlock/lock_service.hpp"
#include "support/calls.hpp"
#include "support/stuck_names.hpp"
#include "support/test.hpp"
#include "support/zookeeper_server.hpp"

namespace dlock::test {

TEST_CASE("zookeeper lookup: a name service that is silent keeps nobody from servers with other names") {
  const zookeeper_server server;
  names_stuck = true;
  const auto url = fmt::format("zookeeper://first.test:1,{}/?connect_timeout=2000", server.address());
  auto granted =
      std::async(std::launch::async, [&] { return test::granted(lock_service(url).acquire("k", {.wait = 30s})); });
  CHECK(granted.wait_for(30s) == std::future_status::ready);
  names_stuck = false;
  CHECK(granted.get());
}

}  // namespace dlock::test
