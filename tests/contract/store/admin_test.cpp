// SPDX-License-Identifier: GPL-2.0-or-later

/// inspect, list: what operators see.

#include <vector>

#include "contract/store/store_contract.hpp"

namespace dlock::test {

namespace {

std::vector<std::string> listed(actor& actor, std::string_view after, std::size_t limit) {
  std::vector<holder_info> found;
  CHECK(answer(actor.store->admin()->list(*actor.connection, after, limit, found)) == outcome::yes);
  std::vector<std::string> keys;
  for (const auto& info : found) keys.push_back(info.key);
  return keys;
}

using keys = std::vector<std::string>;

}  // namespace

TEST_CASE("store: inspect shows an own expiry until it has passed", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("long", 20min);
  const auto own = b.inspected("long");
  REQUIRE(own.size() == 1);
  CHECK(own[0].kind == lease_kind::expiring);
  CHECK(own[0].left > 15min);
  CHECK(own[0].left <= 20min + a.rounding);
  a.acquire("short", for_moments);
  pass_until(*place, [&] { return b.at("short").expired; });
  CHECK(b.inspected("short").empty());
}

TEST_CASE("store: list pages through the held keys in byte order", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const bool bytes = a.store->caps().any_key;
  const std::string last = bytes ? "\xff" : "z", first = bytes ? "B" : "A";
  for (const auto& key : {std::string("b"), first, std::string("aa"), last, std::string("ab")}) a.acquire(key);
  REQUIRE(answer(a.release("c", a.acquire("c"))) == outcome::yes);
  b.acquire("d", for_moments);
  pass_until(*place, [&] { return b.at("d").expired; });
  CHECK(listed(b, "", 100) == keys{first, "aa", "ab", "b", last});
  CHECK(listed(b, "", 2) == keys{first, "aa"});
  CHECK(listed(b, "aa", 2) == keys{"ab", "b"});
  CHECK(listed(b, "b", 2) == keys{last});
  CHECK(listed(b, last, 2).empty());
  CHECK(listed(b, "", 0).empty());
}

}  // namespace dlock::test
