// SPDX-License-Identifier: BSL-1.0

/// Names that can't be looked up.

#include <fmt/format.h>

#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "support/redis_server.hpp"
#include "support/stuck_names.hpp"
#include "support/test.hpp"

namespace dlock::test {

TEST_CASE("redis lookup: a name service that is silent costs no more than the limit") {
  const redis_server first, second, third;
  const auto locks = open_store(fmt::format("redis://first.test:{}/0?persistence=none", first.port()));
  const auto masters = open_store(fmt::format("redlock://first.test:{},127.0.0.1:{},127.0.0.1:{}/0?restart_delay=0",
                                              first.port(), second.port(), third.port()));
  names_stuck = true;
  fault why;
  auto one = std::async(std::launch::async, [&] { return locks->connect(300ms, why); });
  fault other;
  auto majority = std::async(std::launch::async, [&] { return masters->connect(300ms, other); });
  const bool in_time =
      one.wait_for(20s) == std::future_status::ready && majority.wait_for(20s) == std::future_status::ready;
  CHECK(in_time);
  if (!in_time) names_stuck = false;
  CHECK(one.get() == nullptr);
  CHECK_THAT(why.text, Catch::Matchers::ContainsSubstring("the name service does not answer in time"));
  CHECK(majority.get() != nullptr);
  names_stuck = false;
  CHECK(locks->connect(20s, why) != nullptr);
}

}  // namespace dlock::test
