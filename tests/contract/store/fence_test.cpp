// SPDX-License-Identifier: BSL-1.0

/// Fencing tokens. Of stores with capabilities::fence.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: the fence grows at each grant, by one where it is counted, and stays at release") {
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    actor& who = i % 2 == 0 ? a : b;
    const auto fence = who.acquire("k");
    CHECK(fence > last);
    CHECK(who.follows(fence, last));
    last = fence;
    REQUIRE(answer(who.release("k", fence)) == outcome::yes);
    if (!who.deletes) CHECK(a.at("k").fence >= last);
    if (who.counts) CHECK(a.at("k").fence == last);
  }
}

}  // namespace dlock::test
