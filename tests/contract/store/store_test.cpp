// SPDX-License-Identifier: BSL-1.0

/// take, insert, poll: who gets a key, and with which fence.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors,
                 "store: a key that was never used has no row, and is taken only where a free key has none") {
  CHECK(answer(a.poll("k")) == outcome::absent);
  const reply taken = a.take("k");
  REQUIRE(answer(taken) == (a.deletes ? outcome::yes : outcome::no));
  if (a.deletes) {
    CHECK(answer(b.take("k")) == outcome::no);
    CHECK(a.sees(a, "k"));
    REQUIRE(answer(a.release("k", taken.fence)) == outcome::yes);
  }
  if (!a.makes_rows) CHECK(answer(a.poll("k")) == outcome::absent);
  CHECK_FALSE(a.sees_held("k"));
}

TEST_CASE_METHOD(two_actors, "store: the first insert of a key is a grant, the second makes nothing") {
  if (a.makes_rows) CHECK(answer(a.take("k")) == outcome::no);
  const reply first = a.insert("k");
  REQUIRE(answer(first) == outcome::yes);
  CHECK(a.follows(first.fence, 0));
  CHECK(answer(b.insert("k")) == outcome::no);
  CHECK(answer(a.insert("k")) == outcome::no);
  CHECK(b.sees(a, "k"));
  if (!b.hides) CHECK(b.at("k").fence == first.fence);
}

TEST_CASE_METHOD(two_actors, "store: one owner at a time") {
  const auto fence = a.acquire("k");
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(b.take("k", for_long)) == outcome::no);
  CHECK(answer(b.insert("k")) == outcome::no);
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::no);
  CHECK_FALSE(b.at("k").expired);
  CHECK(a.sees(a, "k"));
  CHECK(b.sees(a, "k"));
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  CHECK_FALSE(b.sees_held("k"));
  const reply theirs = b.take("k");
  REQUIRE(answer(theirs) == outcome::yes);
  CHECK(b.follows(theirs.fence, fence));
  CHECK(a.sees(b, "k"));
  CHECK(answer(a.take("k")) == outcome::no);
}

TEST_CASE_METHOD(one_actor, "store: a store knows no re-entry, so a second take by the holder is refused") {
  const auto fence = a.acquire("k");
  CHECK(answer(a.take("k")) == outcome::no);
  CHECK(answer(a.insert("k")) == outcome::no);
  if (!a.hides) CHECK(a.at("k").fence == fence);
  CHECK(answer(a.release("k", fence)) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: a free key is not taken over") {
  const auto fence = a.acquire("k");
  const seen held = b.at("k");
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  a.close();
  CHECK(answer(b.take_over("k", held)) == outcome::no);
  CHECK(answer(b.take_over("k", b.at("k"))) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: a batch answers for each key") {
  REQUIRE(answer(a.release("batch:1", a.acquire("batch:1"))) == outcome::yes);
  const auto second = a.acquire("batch:1");
  REQUIRE(answer(a.release("batch:1", second)) == outcome::yes);
  const auto held = a.acquire("batch:2");
  const auto third = b.acquire("batch:3");
  REQUIRE(answer(b.release("batch:3", third)) == outcome::yes);
  // A free key has no row in some stores: then a take would make it.
  const bool inserts = a.deletes;

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
    unsigned statements = 0;
    for (const reply& r : replies) {
      answer(r);
      statements += r.statements;
    }
    if (who.store->caps().batch && (who.hides || fixture->keeps_by_itself()))
      CHECK(statements == 1);  // others may need more
    return replies;
  };

  const auto taken = run(b, verb::take);
  CHECK(taken[0].result == outcome::yes);
  CHECK(a.follows(taken[0].fence, second));
  CHECK(taken[1].result == outcome::no);
  CHECK(taken[2].result == outcome::yes);
  CHECK(a.follows(taken[2].fence, third));
  CHECK(taken[3].result == (inserts ? outcome::yes : outcome::no));
  if (inserts) REQUIRE(answer(b.release("batch:4", taken[3].fence)) == outcome::yes);

  const auto polled = run(a, verb::poll);
  CHECK(polled[1].holder.holder == a.id);
  CHECK((polled[0].holder.holder == b.id || (a.hides && polled[0].holder.holder)));
  CHECK((polled[2].holder.fence == taken[2].fence || (a.hides && polled[2].holder.holder)));
  CHECK((polled[3].result == outcome::absent || (a.makes_rows && !polled[3].holder.holder)));

  const auto inserted = run(b, verb::insert);
  CHECK(inserted[0].result == outcome::no);
  CHECK(inserted[3].result == outcome::yes);
  CHECK(a.follows(inserted[3].fence, 0));

  const auto freed = run(b, verb::release, {taken[0].fence, held, taken[2].fence, inserted[3].fence});
  CHECK(freed[0].result == outcome::yes);
  CHECK(freed[1].result == outcome::no);
  CHECK(freed[2].result == outcome::yes);
  CHECK(freed[3].result == outcome::yes);
  CHECK(a.sees(a, "batch:2"));
  CHECK_FALSE(a.sees_held("batch:1"));
}

// release, cancel: what a holder may do, and what another program may not.

TEST_CASE_METHOD(two_actors, "store: a release by another owner or of another key changes nothing", "[T01]") {
  const auto fence = a.acquire("k");
  CHECK(answer(b.release("k", fence)) == outcome::no);
  if (b.store->caps().min_hold) CHECK(answer(b.release("k", fence, for_long)) == outcome::no);
  CHECK(answer(b.release("other", fence)) == outcome::no);
  CHECK(answer(a.release("other", fence)) == outcome::no);
  CHECK(b.sees(a, "k"));
  if (!b.hides) CHECK((b.at("k").kind == lease_kind::session) == a.keeps);
  CHECK(answer(a.release("k", fence)) == outcome::yes);
}

TEST_CASE_METHOD(one_actor, "store: a release with an old fence changes nothing", "[T12]") {
  const auto old = a.acquire("k");
  REQUIRE(answer(a.release("k", old)) == outcome::yes);
  const auto fence = a.acquire("k");
  CHECK(answer(a.release("k", old)) == outcome::no);
  CHECK(answer(a.release("k", fence + 1)) == outcome::no);
  CHECK(a.sees(a, "k"));
  CHECK(answer(a.release("k", fence)) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: releasing twice is harmless", "[T08]") {
  const auto fence = a.acquire("k");
  CHECK(answer(a.release("k", fence)) == outcome::yes);
  CHECK(answer(a.release("k", fence)) == outcome::no);
  b.acquire("k");
  CHECK(answer(a.release("k", fence)) == outcome::no);
  CHECK(b.sees(b, "k"));
}

TEST_CASE_METHOD(two_actors, "store: cancel frees by nonce, whatever the fence") {
  a.acquire("k");
  const auto nonce = a.nonce;
  CHECK(answer(a.cancel("k", nonce + 1)) == outcome::no);
  CHECK(answer(a.cancel("other", nonce)) == outcome::no);
  CHECK(answer(b.cancel("k", nonce)) == outcome::no);
  CHECK(a.sees(a, "k"));
  CHECK(answer(a.cancel("k", nonce)) == outcome::yes);
  CHECK_FALSE(a.sees_held("k"));
  CHECK(answer(a.cancel("k", nonce)) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(one_actor, "store: cancel of an old attempt leaves the session's new grant alone") {
  const auto fence = a.acquire("k");
  const auto old = a.nonce;
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  a.acquire("k");
  REQUIRE(a.nonce != old);
  CHECK(answer(a.cancel("k", old)) == outcome::no);
  CHECK(a.sees(a, "k"));
}

TEST_CASE("store: a grant belongs to its holder, each verb about it may go over another connection", "[T95]") {
  const auto fixture = make_store_fixture();
  actor holder(*fixture), other(*fixture);
  std::vector<std::unique_ptr<connection>> before;  // they stay open
  const auto connect_anew = [&] {
    fault why;
    before.push_back(std::exchange(holder.connection, holder.store->connect(10s, why)));
    INFO(why.text);
    REQUIRE(holder.connection != nullptr);
  };
  const auto fence = holder.acquire("k");
  connect_anew();
  CHECK(other.sees(holder, "k"));
  if (holder.keeps) CHECK(holder.renew(for_long) == outcome::yes);
  if (!holder.keeps) CHECK(answer(holder.extend("k", fence, for_long)) == outcome::yes);
  connect_anew();
  CHECK(answer(other.take("k")) == outcome::no);
  CHECK(answer(holder.release("k", fence)) == outcome::yes);
  const auto next = holder.acquire("k");
  CHECK(holder.follows(next, fence));
  connect_anew();
  CHECK(answer(holder.cancel("k", holder.nonce)) == outcome::yes);
  connect_anew();
  CHECK(other.follows(other.acquire("k"), next));
  CHECK(holder.close() == outcome::yes);
}

// Several requests at once: each is answered for itself, whatever came together with it.

namespace {

struct asked {
  std::string key{};
  std::uint64_t number = 0;  ///< take, cancel: the nonce; release: the fence
};

std::vector<reply> batch(actor& actor, verb action, const std::vector<asked>& about) {
  std::vector<request> requests;
  for (const auto& each : about) {
    request q{.action = action,
              .resource = each.key,
              .session = actor.id,
              .kind = kind_for(actor.lasting(0us)),
              .ttl = actor.lasting(0us)};
    (action == verb::release ? q.fence : q.nonce) = each.number;
    requests.push_back(q);
  }
  return actor.run(requests);
}

std::vector<outcome> answers(const std::vector<reply>& from) {
  std::vector<outcome> all;
  for (const auto& each : from) all.push_back(answer(each));
  return all;
}

constexpr auto yes = outcome::yes, no = outcome::no;
using outcomes = std::vector<outcome>;

}  // namespace

TEST_CASE_METHOD(two_actors, "store: a batch of takes grants no key that is held, by the same session neither",
                 "[T76]") {
  for (const char* key : {"free", "theirs"}) REQUIRE(answer(b.release(key, b.acquire(key))) == yes);
  b.acquire("theirs");
  const auto mine = a.acquire("mine");
  const auto replies = batch(a, verb::take, {{"free", 100}, {"mine", 101}, {"theirs", 102}});
  CHECK(answers(replies) == outcomes{yes, no, no});
  CHECK(a.follows(replies[0].fence, 0, 2));
  if (!a.hides) CHECK(a.at("mine").fence == mine);
  CHECK(b.sees(b, "theirs"));
  // The first grant goes by its own nonce still.
  CHECK(answer(a.cancel("mine", 101)) == no);
  CHECK(answer(a.cancel("mine", a.nonce)) == yes);
  CHECK(answer(a.cancel("free", 100)) == yes);
}

TEST_CASE_METHOD(two_actors, "store: a batch of inserts makes new keys by one statement, and grants none that is there",
                 "[T76]") {
  if (a.makes_rows) {
    for (const char* key : {"new a", "new b", "new c", "new d"}) CHECK(answer(a.take(key)) == no);
  }
  const auto replies = batch(a, verb::insert, {{"new a", 100}, {"new b", 101}, {"new c", 102}});
  REQUIRE(answers(replies) == outcomes{yes, yes, yes});
  for (const auto& each : replies) CHECK(a.follows(each.fence, 0));
  for (const char* key : {"new a", "new b", "new c"}) {
    CHECK(a.sees(a, key));
    if (!a.hides) CHECK(a.follows(a.at(key).fence, 0));
  }
  CHECK(answer(a.cancel("new b", 100)) == no);  // each has its own nonce
  CHECK(answer(a.cancel("new b", 101)) == yes);
  if (a.store->caps().batch && a.store->name().starts_with("mysql")) {
    CHECK(statements(replies) == 1);
  }

  REQUIRE(answer(b.release("theirs", b.acquire("theirs"))) == yes);
  const auto mixed = batch(a, verb::insert, {{"new a", 200}, {"new d", 201}, {"theirs", 202}});
  CHECK(answers(mixed) == outcomes{no, yes, b.deletes || b.makes_rows ? yes : no});
  CHECK(a.follows(mixed[1].fence, 0));
  CHECK(a.sees(a, "new d"));
  CHECK(b.sees_held("theirs") == (b.deletes || b.makes_rows));
  CHECK(answer(a.release("new a", replies[0].fence)) == yes);  // the first grant's
}

TEST_CASE_METHOD(two_actors, "store: a batch of releases frees the grants that it names, by fence, and no later one",
                 "[T02]") {
  const auto older = a.acquire("older");
  REQUIRE(answer(a.release("older", older)) == yes);
  const auto present = a.acquire("present");
  REQUIRE(answer(a.release("present", present)) == yes);
  const auto newer = a.acquire("older");
  const auto again = a.acquire("present");
  const auto theirs = b.acquire("theirs");
  CHECK(answers(batch(a, verb::release, {{"never", 1}, {"older", older}, {"present", again}, {"theirs", theirs}})) ==
        outcomes{no, no, yes, no});
  CHECK(a.sees(a, "older"));
  CHECK_FALSE(a.sees_held("present"));
  CHECK(b.sees(b, "theirs"));
  // All of them wrong.
  CHECK(answers(batch(a, verb::release, {{"older", older}, {"theirs", theirs}})) == outcomes{no, no});
  CHECK(a.sees(a, "older"));
  CHECK(answers(batch(a, verb::release, {{"older", newer + 1}, {"theirs", theirs + 1}})) == outcomes{no, no});
  CHECK(a.sees(a, "older"));
}

TEST_CASE_METHOD(two_actors, "store: a batch of cancels frees the attempts that it names, by nonce, and no later one") {
  const auto former = a.acquire("older");
  const auto first = a.nonce;
  REQUIRE(answer(a.release("older", former)) == yes);
  a.acquire("older");
  a.acquire("present");
  const auto present = a.nonce;
  b.acquire("theirs");
  CHECK(answers(batch(a, verb::cancel, {{"older", first}, {"present", present}, {"theirs", b.nonce}})) ==
        outcomes{no, yes, no});
  CHECK(a.sees(a, "older"));
  if (!a.hides) CHECK(a.follows(a.at("older").fence, former));
  CHECK_FALSE(a.sees_held("present"));
  CHECK(b.sees(b, "theirs"));
}

TEST_CASE_METHOD(two_actors, "store: polls of many keys are one statement, and each is answered for its own key") {
  // What a collation, a comparison of texts or one that stops at a zero would take for the same.
  const bool any = a.store->caps().any_key;
  const std::vector<std::string> held =
      any ? std::vector<std::string>{"a",        "A",         "a ",      std::string("a\0", 2),
                                     "\xc3\xa4", "a\xcc\x88", "'%_\\\"", "\xff\xfe"}
          : std::vector<std::string>{"a", "A1", "a 2", "'%_\\\"", "a;b"};
  for (const auto& key : held)
    (key[0] == 'A' ? b : a).acquire(key, a.store->caps().expiring_leases && key.starts_with("a ") ? for_long : 0us);
  REQUIRE(answer(a.release("free", a.acquire("free"))) == yes);
  std::vector<asked> about{{"absent"},
                           {"free"},
                           {std::string(any ? 255 : 32, 'k')},
                           {any ? "\xe4" : "e4"},
                           {any ? std::string("a\0\0", 3) : "a00"}};
  for (const auto& key : held) about.push_back({key});
  while (about.size() != 60) about.push_back({"none" + std::to_string(about.size())});
  const auto replies = batch(a, verb::poll, about);
  for (std::size_t i = 0; i != about.size(); ++i) {
    INFO("key " << i << " '" << about[i].key << "'");
    const auto alone = a.poll(about[i].key);
    CHECK(answer(replies[i]) == answer(alone));
    CHECK(replies[i].holder.holder == alone.holder.holder);
    CHECK(replies[i].holder.fence == alone.holder.fence);
    CHECK(replies[i].holder.kind == alone.holder.kind);
    CHECK(replies[i].holder.gone == alone.holder.gone);
    CHECK(replies[i].holder.expired == alone.holder.expired);
    CHECK(replies[i].holder.who == alone.holder.who);
    CHECK(replies[i].holder.remaining >= alone.holder.remaining);
  }
  CHECK((replies[6].holder.holder == b.id || (a.hides && replies[6].holder.holder)));
  if (a.store->caps().batch) CHECK(statements(replies) == 1);
}

// Many at once: threads with connections of their own.

TEST_CASE("store: of many that make a key's row at once exactly one gets it and none an error", "[T48]") {
  const auto fixture = make_store_fixture();
  auto who = crowd(*fixture, 24);
  for (int round = 0; round < 10; ++round) {
    const std::string key = "new:" + std::to_string(round);
    if (who[0]->makes_rows) CHECK(answer(who[0]->take(key)) == outcome::no);
    const auto replies = all_at_once(who, [&](actor& a) { return a.insert(key); });
    for (const reply& r : replies) {
      if (!contended(*fixture, r)) answer(r);
    }
    check_one_got(*fixture, replies, *who[0], key);
    if (!who[0]->hides) CHECK(who[0]->follows(who[0]->at(key).fence, 0));
  }
}

TEST_CASE("store: of many that take a free key at once exactly one gets it and none an error", "[T48]") {
  const auto fixture = make_store_fixture();
  auto who = crowd(*fixture, 12);
  for (int round = 0; round < 5; ++round) {
    const std::string key = "free:" + std::to_string(round);
    const auto first = who[0]->acquire(key);
    REQUIRE(answer(who[0]->release(key, first)) == outcome::yes);
    const auto replies = all_at_once(who, [&](actor& a) { return a.take(key); });
    for (const reply& r : replies) {
      if (!contended(*fixture, r)) answer(r);
    }
    check_one_got(*fixture, replies, *who[0], key);
    if (!who[0]->hides) CHECK(who[0]->follows(who[0]->at(key).fence, first));
  }
}

TEST_CASE("store: holders of one key never overlap, and none sees the fence of the one before") {
  constexpr int rounds = 20;
  const auto fixture = make_store_fixture();
  auto who = crowd(*fixture, 8);
  const auto first = who[0]->acquire("k");
  REQUIRE(answer(who[0]->release("k", first)) == outcome::yes);

  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::uint64_t last = first;  // guarded by the lock under test
  std::atomic<int> gaps{0};
  const auto replies = all_at_once(who, [&](actor& a) -> reply {
    for (int done = 0; done < rounds;) {
      const reply taken = a.take("k");
      if (taken.result == outcome::no || contended(*fixture, taken)) {
        std::this_thread::yield();
        continue;
      }
      if (taken.result != outcome::yes) return taken;
      if (inside.fetch_add(1) != 0) ++overlaps;
      if (!a.follows(taken.fence, last)) ++gaps;
      last = taken.fence;
      inside.fetch_sub(1);
      reply freed = a.release("k", taken.fence);
      while (contended(*fixture, freed)) freed = a.release("k", taken.fence);
      if (freed.result != outcome::yes) return freed;
      ++done;
    }
    return {.result = outcome::yes};
  });
  for (const reply& r : replies) CHECK(answer(r) == outcome::yes);
  CHECK(overlaps == 0);
  CHECK(gaps == 0);
  CHECK(who[0]->follows(last, first, rounds * who.size()));
}

TEST_CASE_METHOD(one_actor, "store: what matters to locks is named, and where it is wrong there is something to do") {
  a.acquire("k");
  REQUIRE(a.store->admin() != nullptr);
  std::vector<store_finding> found;
  CHECK(answer(a.store->admin()->examine(*a.connection, found)) == outcome::yes);
  std::vector<std::string> names;
  for (const auto& each : found) {
    INFO(each.name << ": " << each.value << ": " << each.meaning << " " << each.advice);
    CHECK_FALSE(each.name.empty());
    CHECK_FALSE(each.value.empty());
    CHECK(each.severity != store_finding::level::problem);
    if (each.severity != store_finding::level::good) CHECK_FALSE(each.meaning.empty());
    if (each.severity == store_finding::level::warning) CHECK_FALSE(each.advice.empty());
    names.push_back(each.name);
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

}  // namespace dlock::test
