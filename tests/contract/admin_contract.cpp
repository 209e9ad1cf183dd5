// SPDX-License-Identifier: GPL-2.0-or-later

/// inspect, list, sweep: what operators see, and clean-up.

#include <vector>

#include "contract/store_contract.hpp"

namespace dlock::test {

namespace {

std::vector<holder_info> inspected(actor& by, std::string_view key) {
  std::vector<holder_info> out;
  CHECK(answer(by.where->inspect(*by.on, key, out)) == outcome::yes);
  return out;
}

std::vector<std::string> listed(actor& by, std::string_view after, std::size_t limit) {
  std::vector<holder_info> found;
  CHECK(answer(by.where->list(*by.on, after, limit, found)) == outcome::yes);
  std::vector<std::string> keys;
  for (const auto& info : found) keys.push_back(info.key);
  return keys;
}

/// How many rows went.
std::uint64_t sweep(actor& by, microseconds idle, std::size_t limit = 100) {
  const reply r = by.where->sweep(*by.on, idle, limit);
  CHECK(answer(r) == outcome::yes);
  return r.fence;
}

using keys = std::vector<std::string>;

}  // namespace

TEST_CASE("store: inspect shows a holder, and nobody for a free or unknown key", "[contract]") {
  const auto place = make_store_place();
  actor a(*place, for_long, "billing"), b(*place);
  CHECK(inspected(b, "k").empty());
  const auto fence = a.acquire("k");
  place->pass(2ms);
  const auto kept = inspected(b, "k");
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].key == "k");
  CHECK(kept[0].session == a.id);
  CHECK(kept[0].fence == fence);
  CHECK(kept[0].host == "host-a");
  CHECK(kept[0].pid == 4242);
  CHECK(kept[0].label == "billing");
  CHECK(kept[0].kept);
  CHECK_FALSE(kept[0].doomed);
  CHECK_FALSE(kept[0].dead);
  CHECK(kept[0].since >= 2ms);
  CHECK(kept[0].since < 5min);
  CHECK(kept[0].left > for_long - 5min);

  REQUIRE(answer(b.where->doom(*b.on, "k")) == outcome::yes);
  CHECK(inspected(b, "k").at(0).doomed);
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  CHECK(inspected(b, "k").empty());
}

TEST_CASE("store: inspect shows an own expiry until it has passed", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("long", 20min);
  const auto own = inspected(b, "long");
  REQUIRE(own.size() == 1);
  CHECK_FALSE(own[0].kept);
  CHECK(own[0].left > 15min);
  CHECK(own[0].left <= 20min);
  a.acquire("short", for_moments);
  pass_until(*place, [&] { return b.at("short").expired; });
  CHECK(inspected(b, "short").empty());
}

TEST_CASE("store: inspect shows a holder whose session is gone, with nothing left", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("k");
  a.close();
  const auto gone = inspected(b, "k");
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].session == a.id);
  CHECK(gone[0].host.empty());
  CHECK(gone[0].pid == 0);
  CHECK(gone[0].left == 0us);
  CHECK(gone[0].dead);
}

TEST_CASE("store: inspect and list call a holder dead whose session has expired, and nobody else", "[contract]") {
  const auto place = make_store_place();
  actor a(*place, for_moments), b(*place);
  a.acquire("dead");
  a.acquire("own", 20min);
  b.acquire("alive");
  pass_until(*place, [&] { return b.at("dead").expired; });
  std::vector<holder_info> found;
  REQUIRE(answer(b.where->list(*b.on, "", 10, found)) == outcome::yes);
  REQUIRE(found.size() == 3);
  CHECK_FALSE(found[0].dead);  // alive
  CHECK(found[1].dead);        // dead
  CHECK_FALSE(found[2].dead);  // an expiry of its own needs no session
  CHECK(found[1].host == "host-a");
  CHECK(found[1].left == 0us);
  CHECK(inspected(b, "dead").at(0).dead);
  CHECK_FALSE(inspected(b, "own").at(0).dead);
  // The next one who asks gets it.
  REQUIRE(b.kill(a.id) == outcome::yes);
  CHECK(answer(b.take_over("dead", b.at("dead"))) == outcome::yes);
  CHECK_FALSE(inspected(b, "dead").at(0).dead);
}

TEST_CASE("store: list pages through the held keys in byte order", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  for (const char* key : {"b", "B", "a", "\xff", "c", "ab"}) a.acquire(key);
  REQUIRE(answer(a.release("c", 1)) == outcome::yes);
  b.acquire("d", for_moments);
  pass_until(*place, [&] { return b.at("d").expired; });
  CHECK(listed(b, "", 100) == keys{"B", "a", "ab", "b", "\xff"});
  CHECK(listed(b, "", 2) == keys{"B", "a"});
  CHECK(listed(b, "a", 2) == keys{"ab", "b"});
  CHECK(listed(b, "b", 2) == keys{"\xff"});
  CHECK(listed(b, "\xff", 2).empty());
  CHECK(listed(b, "", 0).empty());
}

TEST_CASE("store: a key that was swept starts above its last fence", "[contract][T50][T58]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  std::uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    last = a.acquire("k");
    REQUIRE(answer(a.release("k", last)) == outcome::yes);
  }
  place->pass(5ms);
  CHECK(sweep(b, 1ms) == 1);
  CHECK(answer(b.look("k")) == outcome::absent);
  CHECK(answer(b.take("k")) == outcome::no);
  const reply again = b.insert("k");
  REQUIRE(answer(again) == outcome::yes);
  CHECK(again.fence == last + 1);
  CHECK(answer(a.release("k", last)) == outcome::no);
  CHECK(b.at("k").holder == b.id);
}

TEST_CASE("store: the highest fence that was swept is the floor for every new key", "[contract][T58]") {
  const auto place = make_store_place();
  actor a(*place);
  for (int i = 0; i < 4; ++i) REQUIRE(answer(a.release("often", a.acquire("often"))) == outcome::yes);
  REQUIRE(answer(a.release("once", a.acquire("once"))) == outcome::yes);
  place->pass(5ms);
  CHECK(sweep(a, 1ms) == 2);
  CHECK(a.acquire("once") == 5);
}

TEST_CASE("store: sweeping leaves held keys, recent ones and live sessions", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto kept = a.acquire("kept");
  a.acquire("own", for_long);
  a.acquire("held on", 0us);
  REQUIRE(answer(a.release("held on", 1, for_long)) == outcome::yes);
  REQUIRE(answer(a.release("recent", a.acquire("recent"))) == outcome::yes);
  CHECK(sweep(b, for_long) == 0);
  place->pass(5ms);
  CHECK(sweep(b, 1ms) == 1);  // "recent" is not recent any more
  CHECK(answer(b.look("recent")) == outcome::absent);
  CHECK(b.at("kept").holder == a.id);
  CHECK(b.at("own").holder == a.id);
  CHECK(b.at("held on").holder == a.id);
  CHECK(a.renew(for_long) == outcome::yes);
  CHECK(b.renew(for_long) == outcome::yes);
  CHECK(answer(a.release("kept", kept)) == outcome::yes);
}

TEST_CASE("store: sweeping with idle zero leaves all keys", "[contract]") {
  const auto place = make_store_place();
  actor a(*place);
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  place->pass(5ms);
  CHECK(sweep(a, 0us) == 0);
  CHECK(a.at("k").fence == 1);
}

TEST_CASE("store: sweeping deletes dead sessions that hold nothing, and no others", "[contract]") {
  const auto place = make_store_place();
  actor idle(*place, for_moments), holding(*place, for_moments), b(*place);
  holding.acquire("k");
  pass_until(*place, [&] { return b.at("k").expired; });
  place->pass(2 * for_moments);
  CHECK(sweep(b, for_long) == 1);
  CHECK(b.kill(idle.id) == outcome::no);  // not there any more
  const seen now = b.at("k");
  CHECK(now.holder == holding.id);
  CHECK_FALSE(now.gone);
  CHECK(b.kill(holding.id) == outcome::yes);
}

TEST_CASE("store: sweeping deletes keys of the dead that nobody asks for any more", "[contract][T58]") {
  const auto place = make_store_place();
  actor dead(*place, for_moments), b(*place);
  const auto last = dead.acquire("forsaken");
  dead.acquire("expired", for_moments);
  pass_until(*place, [&] { return b.at("forsaken").expired && b.at("expired").expired; });
  place->pass(2 * for_moments);
  CHECK(sweep(b, for_long) == 0);  // not idle for so long
  CHECK(sweep(b, 1ms) >= 2);
  sweep(b, 1ms);
  CHECK(answer(b.look("forsaken")) == outcome::absent);
  CHECK(answer(b.look("expired")) == outcome::absent);
  CHECK(b.kill(dead.id) == outcome::no);  // and their session with them
  CHECK(b.acquire("forsaken") > last);
}

TEST_CASE("store: sweeping deletes at most as many rows as it was told", "[contract]") {
  const auto place = make_store_place();
  actor a(*place);
  for (const char* key : {"1", "2", "3", "4", "5"}) REQUIRE(answer(a.release(key, a.acquire(key))) == outcome::yes);
  place->pass(5ms);
  CHECK(sweep(a, 1ms, 2) == 2);
  CHECK(sweep(a, 1ms, 2) == 2);
  CHECK(sweep(a, 1ms, 2) == 1);
  CHECK(sweep(a, 1ms, 2) == 0);
}

}  // namespace dlock::test
