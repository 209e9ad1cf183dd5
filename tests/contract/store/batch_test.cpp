// SPDX-License-Identifier: BSL-1.0

/// Several requests at once: each is answered for itself, whatever came together with it.

#include <string>
#include <vector>

#include "contract/store/two_actors.hpp"

namespace dlock::test {

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
                 "[contract][T76]") {
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
                 "[contract][T76]") {
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
                 "[contract][T02]") {
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

TEST_CASE_METHOD(two_actors, "store: a batch of cancels frees the attempts that it names, by nonce, and no later one",
                 "[contract]") {
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

TEST_CASE_METHOD(two_actors, "store: polls of many keys are one statement, and each is answered for its own key",
                 "[contract]") {
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

}  // namespace dlock::test
