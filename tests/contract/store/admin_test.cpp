// SPDX-License-Identifier: BSL-1.0

/// list: what operators see of all keys.

#include <vector>

#include "contract/store/store_contract.hpp"

namespace dlock::test {

namespace {

std::vector<std::string> listed(actor& actor, std::string_view after, std::size_t limit) {
  REQUIRE(actor.store->admin() != nullptr);
  std::vector<holder_info> found;
  CHECK(answer(actor.store->admin()->list(*actor.connection, after, limit, found)) == outcome::yes);
  std::vector<std::string> keys;
  for (const auto& info : found) keys.push_back(info.key);
  return keys;
}

using keys = std::vector<std::string>;

}  // namespace

TEST_CASE("store: list pages through the held keys in byte order", "[contract]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture), b(*fixture);
  CHECK(listed(b, "", 100).empty());
  const bool bytes = a.store->caps().any_key;
  const std::string last = bytes ? "\xff" : "z", first = bytes ? "B" : "A";
  for (const auto& key : {std::string("b"), first, std::string("a/a"), last, std::string("ab")}) a.acquire(key);
  REQUIRE(answer(a.release("c", a.acquire("c"))) == outcome::yes);
  if (a.store->caps().expiring_leases) {
    b.acquire("d", for_moments);
    pass_until(*fixture, [&] { return b.at("d").expired; });
  }
  actor& asks = a.hides ? a : b;  // a place that hides holders lists only what the asking store holds
  CHECK(listed(asks, "", 100) == keys{first, "a/a", "ab", "b", last});
  CHECK(listed(asks, "", 2) == keys{first, "a/a"});
  CHECK(listed(asks, "a/a", 2) == keys{"ab", "b"});
  CHECK(listed(asks, "b", 2) == keys{last});
  CHECK(listed(asks, last, 2).empty());
  CHECK(listed(asks, "", 0).empty());
}

}  // namespace dlock::test
