// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contract/store/store_contract.hpp"
#include "contract/store_fixture.hpp"
#include "dlock/stores/redis.hpp"
#include "support/calls.hpp"
#include "support/counting_listener.hpp"
#include "support/redis_server.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// A URL that no store is made of.
inline void check_url_refused(const std::string& url, const std::string& why) {
  CHECK_THROWS_MATCHES(open_store(url), std::invalid_argument, MessageMatches(ContainsSubstring(why)));
}

/// Waits until the server executes commands of its own accord again.
inline void wait_for(const redis_server& server, const std::vector<std::string>& words, const std::string& what) {
  REQUIRE(eventually([&] { return server.ask(words).find(what) != std::string::npos; }));
}

}  // namespace dlock::test
