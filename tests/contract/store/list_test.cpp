// SPDX-License-Identifier: BSL-1.0

/// What operators see of all keys. Rows of the application's are none of them.

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

TEST_CASE_METHOD(two_actors, "store: list pages through the held keys in byte order") {
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

namespace {

store_overview overview(actor& actor, std::size_t limit = 100) {
  REQUIRE(actor.store->admin() != nullptr);
  store_overview found;
  const auto got = actor.store->admin()->overview(*actor.connection, limit, found);
  CHECK(answer(got) == outcome::yes);
  return found;
}

std::vector<std::string> keys_of(const std::vector<holder_info>& holders) {
  std::vector<std::string> names;
  for (const auto& each : holders) names.push_back(each.key);
  std::sort(names.begin(), names.end());
  return names;
}

const session_info* find(const store_overview& in, const id128& session) {
  const auto found =
      std::find_if(in.sessions.begin(), in.sessions.end(), [&](const auto& s) { return s.id == session; });
  return found == in.sessions.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE_METHOD(two_actors, "store: an overview counts the held keys and lists them, those held longest first") {
  actor& asks = a.hides ? a : b;
  CHECK(overview(asks).held == 0);
  a.acquire("first");
  fixture->pass(5ms);
  a.acquire("a second");
  REQUIRE(answer(a.release("freed", a.acquire("freed"))) == outcome::yes);
  if (a.store->caps().expiring_leases) {
    b.acquire("over", for_moments);
    pass_until(*fixture, [&] { return b.at("over").expired; });
  }
  const auto all = overview(asks);
  CHECK(all.complete);
  CHECK(all.held == 2);
  CHECK(all.held_dead == 0);
  CHECK(all.keys >= all.held);
  REQUIRE(keys_of(all.longest) == keys{"a second", "first"});
  if (all.longest[0].since != 0us) CHECK(all.longest[0].key == "first");
  CHECK(overview(asks, 1).longest.size() == 1);
  CHECK(overview(asks, 0).longest.empty());
  CHECK(overview(asks, 0).held == 2);
}

TEST_CASE_METHOD(two_actors, "store: an overview shows who holds how many keys") {
  if (a.hides) return;  // it shows what the asking store holds
  a.acquire("1");
  a.acquire("2");
  b.acquire("3");
  const auto all = overview(b);
  const auto *const of_a = find(all, a.id), *const of_b = find(all, b.id);
  REQUIRE(of_a != nullptr);
  REQUIRE(of_b != nullptr);
  CHECK(of_a->locks == 2);
  CHECK(of_b->locks == 1);
  CHECK(all.sessions.front().id == a.id);
  CHECK(overview(b, 1).sessions.size() == 1);
  if (!a.keeps) return;
  CHECK(of_a->host == "host-a");
  CHECK(of_a->pid == 4242);
  CHECK(of_a->label == "worker");
  CHECK_FALSE(of_a->revoked);
  CHECK_FALSE(of_a->dead);
  CHECK(all.sessions_alive == 2);
  CHECK(all.sessions_dead == 0);
  if (of_a->ttl != 0us) CHECK(of_a->ttl == for_long);
  CHECK(of_a->age < 20min);
}

TEST_CASE_METHOD(one_actor, "store: where an overview counts grants, it counts each") {
  a.acquire("held");
  const auto before = overview(a).grants;
  if (!before) return;
  for (int i = 0; i != 3; ++i) REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  a.acquire("new");
  const auto after = overview(a).grants;
  REQUIRE(after);
  CHECK(*after - *before == 4);
}

}  // namespace dlock::test
