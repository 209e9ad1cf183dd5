// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include "contract/store/store_contract.hpp"
#include "contract/url_fixture.hpp"
#include "dlock/stores/redis.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

namespace dlock::test {

/// Waits until the server executes commands of its own accord again.
inline void wait_for(const redis_server& server, const std::vector<std::string>& words, const std::string& what) {
  REQUIRE(eventually([&] { return server.ask(words).find(what) != std::string::npos; }));
}

}  // namespace dlock::test
