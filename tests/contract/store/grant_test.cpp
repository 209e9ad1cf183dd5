// SPDX-License-Identifier: GPL-2.0-or-later

/// take, insert, look: who gets a key, and with which fence.

#include <array>
#include <vector>

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE("store: a key that was never used has no row and cannot be taken", "[contract]") {
  const auto place = make_store_place();
  actor a(*place);
  CHECK(answer(a.look("k")) == outcome::absent);
  CHECK(answer(a.take("k")) == outcome::no);
  CHECK(answer(a.look("k")) == outcome::absent);
}

TEST_CASE("store: the first insert of a key is a grant, the second makes nothing", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const reply first = a.insert("k");
  REQUIRE(answer(first) == outcome::yes);
  CHECK(first.fence == 1);
  CHECK(answer(b.insert("k")) == outcome::no);
  CHECK(answer(a.insert("k")) == outcome::no);
  const seen now = b.at("k");
  CHECK(now.holder == a.id);
  CHECK(now.fence == 1);
}

TEST_CASE("store: one owner at a time", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto fence = a.acquire("k");
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(b.take("k", for_long)) == outcome::no);
  CHECK(a.at("k").holder == a.id);
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  CHECK(answer(b.take("k")) == outcome::yes);
  CHECK(a.at("k").holder == b.id);
}

TEST_CASE("store: a store knows no re-entry, so a second take by the holder is refused", "[contract]") {
  const auto place = make_store_place();
  actor a(*place);
  const auto fence = a.acquire("k");
  CHECK(answer(a.take("k")) == outcome::no);
  CHECK(a.at("k").fence == fence);
}

TEST_CASE("store: the fence grows by one at each grant and stays at release", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    actor& who = i % 2 == 0 ? a : b;
    const auto fence = who.acquire("k");
    CHECK(fence == last + 1);
    last = fence;
    REQUIRE(answer(who.release("k", fence)) == outcome::yes);
    CHECK(a.at("k").fence == last);
  }
}

TEST_CASE("store: keys that differ in any byte are different locks", "[contract][T56]") {
  const auto place = make_store_place();
  actor a(*place);
  const std::string longest(255, 'x');
  const std::vector<std::string> keys = {"a",
                                         "A",
                                         "\xc3\xa4",
                                         "\xc3\x84",
                                         "a ",
                                         "a  ",
                                         " a",
                                         "a\t",
                                         "a\n",
                                         "\xf0\x9f\x94\x92",
                                         "\xff\xfe",
                                         "a'b",
                                         "a\\",
                                         "%",
                                         "_",
                                         "a\"b; -- ",
                                         longest,
                                         longest.substr(0, 254),
                                         "a\x01",
                                         "\x80"
                                         "a",
                                         std::string("a\0", 2),
                                         std::string("a\0b", 3),
                                         std::string("\0", 1),
                                         longest.substr(0, 254) + "X"};
  std::uint64_t n = 0;
  for (const auto& key : keys) {
    INFO("key " << ++n);
    CHECK(answer(a.look(key)) == outcome::absent);
    CHECK(a.acquire(key) == 1);
  }
  for (const auto& key : keys) CHECK(answer(a.release(key, 1)) == outcome::yes);
}

TEST_CASE("store: a batch answers for each key", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("batch:1");
  REQUIRE(answer(a.release("batch:1", 1)) == outcome::yes);
  a.acquire("batch:1");  // its second fence
  REQUIRE(answer(a.release("batch:1", 2)) == outcome::yes);
  a.acquire("batch:2");
  b.acquire("batch:3");
  REQUIRE(answer(b.release("batch:3", 1)) == outcome::yes);

  const std::array<std::string_view, 4> keys = {"batch:1", "batch:2", "batch:3", "batch:4"};
  const auto run = [&](actor& who, verb action, std::array<std::uint64_t, 4> fences = {}) {
    std::array<request, 4> requests;
    std::array<reply, 4> replies;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      requests[i] = {.action = action,
                     .resource = keys[i],
                     .session = who.id,
                     .nonce = ++who.nonce,
                     .fence = fences[i],
                     .kind = kind_for(who.lasting(0us)),
                     .ttl = who.lasting(0us)};
    }
    who.store->execute(*who.connection, requests, replies);
    for (const reply& r : replies) answer(r);
    return replies;
  };

  const auto taken = run(b, verb::take);
  CHECK(taken[0].result == outcome::yes);
  CHECK(taken[0].fence == 3);
  CHECK(taken[1].result == outcome::no);
  CHECK(taken[2].result == outcome::yes);
  CHECK(taken[2].fence == 2);
  CHECK(taken[3].result == outcome::no);

  const auto looked = run(a, verb::look);
  CHECK(looked[0].holder.holder == b.id);
  CHECK(looked[1].holder.holder == a.id);
  CHECK(looked[2].holder.fence == 2);
  CHECK(looked[3].result == outcome::absent);

  const auto inserted = run(b, verb::insert);
  CHECK(inserted[0].result == outcome::no);
  CHECK(inserted[3].result == outcome::yes);
  CHECK(inserted[3].fence == 1);

  const auto freed = run(b, verb::release, {3, 1, 2, 1});
  CHECK(freed[0].result == outcome::yes);
  CHECK(freed[1].result == outcome::no);
  CHECK(freed[2].result == outcome::yes);
  CHECK(freed[3].result == outcome::yes);
  CHECK(a.at("batch:2").holder == a.id);
  CHECK_FALSE(a.at("batch:1").holder);
}

}  // namespace dlock::test
