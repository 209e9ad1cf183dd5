// SPDX-License-Identifier: BSL-1.0

/// Release and take in one. Of stores with capabilities::passes_on.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: a lock that is passed on stays its session's, with the next fence") {
  REQUIRE(a.store->caps().passes_on);
  const auto fence = a.acquire("k");
  const auto before = a.nonce;
  const reply passed = a.pass_on("k", fence);
  REQUIRE(answer(passed) == outcome::yes);
  CHECK(a.follows(passed.fence, fence));
  const seen held = b.at("k");
  CHECK(held.holder == a.id);
  CHECK(held.fence == passed.fence);
  CHECK(held.kind == lease_kind::session);
  CHECK(answer(b.take("k")) == outcome::no);

  // The grant before is over: nothing that names it does anything.
  CHECK(answer(a.release("k", fence)) == outcome::no);
  CHECK(answer(a.cancel("k", before)) == outcome::no);
  CHECK(answer(a.pass_on("k", fence)) == outcome::no);
  CHECK(b.sees(a, "k"));

  CHECK(answer(a.release("k", passed.fence)) == outcome::yes);
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(one_actor, "store: what is passed on can be cancelled by its own nonce") {
  REQUIRE(answer(a.pass_on("k", a.acquire("k"))) == outcome::yes);
  CHECK(answer(a.cancel("k", a.nonce)) == outcome::yes);
  CHECK_FALSE(a.sees_held("k"));
}

TEST_CASE_METHOD(two_actors, "store: nobody passes on what others hold, what is free, or what was never there") {
  const auto theirs = b.acquire("theirs");
  CHECK(answer(a.pass_on("theirs", theirs)) == outcome::no);
  CHECK(b.at("theirs").fence == theirs);
  const auto freed = a.acquire("free");
  REQUIRE(answer(a.release("free", freed)) == outcome::yes);
  CHECK(answer(a.pass_on("free", freed)) == outcome::no);
  CHECK_FALSE(a.sees_held("free"));
  CHECK(answer(a.pass_on("never", 1)) == outcome::no);
}

TEST_CASE_METHOD(two_actors, "store: a lock that was passed on is free once its session is gone") {
  REQUIRE(answer(a.pass_on("k", a.acquire("k"))) == outcome::yes);
  REQUIRE(a.close() == outcome::yes);
  const seen left = b.at("k");
  REQUIRE(left.gone);
  CHECK(answer(b.take_over("k", left)) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: several locks are passed on at once, each by its own fence") {
  const auto older = a.acquire("older");
  REQUIRE(answer(a.release("older", older)) == outcome::yes);
  const auto newer = a.acquire("older");
  const auto theirs = b.acquire("theirs");
  const auto mine = a.acquire("mine"), other = a.acquire("other");
  const auto asked = [&](const char* key, std::uint64_t fence, std::uint64_t nonce) {
    return request{.action = verb::pass_on, .resource = key, .session = a.id, .nonce = nonce, .fence = fence};
  };
  const std::vector<request> all{asked("mine", mine, 1000), asked("older", older, 1001), asked("other", other, 1002),
                                 asked("theirs", theirs, 1003)};
  const auto replies = a.run(all);
  CHECK(answer(replies[0]) == outcome::yes);
  CHECK(answer(replies[1]) == outcome::no);
  CHECK(answer(replies[2]) == outcome::yes);
  CHECK(answer(replies[3]) == outcome::no);
  CHECK(a.follows(replies[0].fence, mine));
  CHECK(a.follows(replies[2].fence, other));
  CHECK(a.at("older").fence == newer);
  CHECK(b.at("theirs").fence == theirs);
  CHECK(answer(a.cancel("mine", 1002)) == outcome::no);  // each has its own nonce
  CHECK(answer(a.cancel("mine", 1000)) == outcome::yes);
  CHECK(answer(a.release("other", replies[2].fence)) == outcome::yes);
}

}  // namespace dlock::test
