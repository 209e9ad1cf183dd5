// SPDX-License-Identifier: GPL-2.0-or-later

/// Verbs of stores all of whose leases are kept by sessions, which the place ends by itself: nothing has an expiry of its own,
/// and a free key leaves nothing behind.

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/store/crowd.hpp"
#include "contract/store/store_contract.hpp"

namespace dlock::test {

namespace {

constexpr auto yes = outcome::yes, no = outcome::no;

std::vector<std::string> listed(actor& actor, std::string_view after, std::size_t limit) {
  std::vector<holder_info> found;
  CHECK(answer(actor.store->admin()->list(*actor.connection, after, limit, found)) == yes);
  std::vector<std::string> keys;
  for (const auto& info : found) keys.push_back(info.key);
  return keys;
}

}  // namespace

TEST_CASE("kept only: one owner at a time, no re-entry, and a free key leaves nothing", "[contract]") {
  const auto place = make_store_place();
  actor a(*place, for_long, "billing"), b(*place);
  CHECK(answer(a.look("k")) == outcome::absent);
  const auto fence = a.acquire("k");
  CHECK(answer(a.take("k")) == no);
  CHECK(answer(a.insert("k")) == no);
  CHECK(answer(b.take("k")) == no);
  CHECK(answer(b.insert("k")) == no);
  const auto holder = b.at("k");
  CHECK(holder.holder == a.id);
  CHECK(holder.fence == fence);
  CHECK(holder.kind == lease_kind::session);
  CHECK_FALSE(holder.gone);
  CHECK_FALSE(holder.expired);
  CHECK(holder.left >= for_long);
  CHECK(holder.who == "host-a/4242 billing");
  CHECK(answer(b.take_over("k", holder)) == no);
  REQUIRE(answer(a.release("k", fence)) == yes);
  CHECK(answer(b.look("k")) == outcome::absent);
  CHECK(b.follows(b.acquire("k"), fence));
}

TEST_CASE("kept only: who does not hold a key, or held it before, frees nothing", "[contract][T01][T02][T08]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const auto old = a.acquire("k");
  const auto old_nonce = a.nonce;
  REQUIRE(answer(a.release("k", old)) == yes);
  CHECK(answer(a.release("k", old)) == no);
  const auto fence = a.acquire("k");
  const auto nonce = a.nonce;
  CHECK(answer(b.release("k", fence)) == no);
  CHECK(answer(b.cancel("k", nonce)) == no);
  CHECK(answer(a.release("k", old)) == no);
  CHECK(answer(a.release("k", fence + 1)) == no);
  CHECK(answer(a.cancel("k", old_nonce)) == no);
  CHECK(answer(a.cancel("k", nonce + 1)) == no);
  CHECK(answer(a.release("other", fence)) == no);
  CHECK(a.at("k").holder == a.id);
  CHECK(answer(a.cancel("k", nonce)) == yes);
  CHECK(answer(a.cancel("k", nonce)) == no);
  CHECK(answer(b.take("k")) == yes);
}

TEST_CASE("kept only: a batch answers for each key by one statement", "[contract][T76]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  const std::array<std::string_view, 4> keys = {"b:1", "b:2", "b:3", "b:4"};
  a.acquire(keys[1]);
  const auto theirs = a.at(keys[1]).fence;
  const auto mine = b.acquire(keys[2]);
  const auto run = [&](actor& who, verb action, std::array<std::uint64_t, 4> numbers) {
    std::array<request, 4> requests;
    std::array<reply, 4> replies;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      requests[i] = {
          .action = action, .resource = keys[i], .session = who.id, .nonce = numbers[i], .fence = numbers[i]};
    }
    who.store->execute(*who.connection, requests, replies);
    unsigned statements = 0;
    for (const reply& each : replies) {
      answer(each);
      statements += each.statements;
    }
    CHECK(statements == 1);
    return replies;
  };
  const auto results = [](const std::array<reply, 4>& from) {
    std::vector<outcome> all;
    for (const auto& each : from) all.push_back(each.result);
    return all;
  };
  using outcomes = std::vector<outcome>;
  const auto taken = run(b, verb::take, {100, 101, 102, 103});
  CHECK(results(taken) == outcomes{yes, no, no, yes});
  CHECK(answer(b.cancel(keys[2], 102)) == no);  // the first grant goes by its own nonce still
  const auto looked = run(a, verb::look, {});
  for (std::size_t i = 0; i != keys.size(); ++i) CHECK(looked[i].holder.holder == (i == 1 ? a.id : b.id));
  CHECK(results(run(b, verb::release, {taken[0].fence, theirs, mine, 999})) == outcomes{yes, no, yes, no});
  CHECK(results(run(b, verb::cancel, {100, 101, 102, 103})) == outcomes{no, no, no, yes});
  CHECK(results(run(a, verb::look, {})) == outcomes{outcome::absent, yes, outcome::absent, outcome::absent});
}

TEST_CASE("kept only: of many that take a key at once one gets it, and none an error", "[contract][T48]") {
  const auto place = make_store_place();
  auto who = crowd(*place, 12);
  for (int round = 0; round < 10; ++round) {
    const auto key = "new:" + std::to_string(round);
    const auto replies = all_at_once(who, [&](actor& a) { return a.take(key); });
    for (const reply& each : replies) answer(each);
    CHECK(count_yes(replies) == 1);
  }
}

TEST_CASE("kept only: holders of one key never overlap, and each fence is above the one before", "[contract]") {
  constexpr int rounds = 20;
  const auto place = make_store_place();
  auto who = crowd(*place, 6);
  std::atomic<int> inside{0}, overlaps{0}, gaps{0};
  std::uint64_t last = 0;  // guarded by the lock under test
  const auto replies = all_at_once(who, [&](actor& a) -> reply {
    for (int done = 0; done < rounds;) {
      const reply taken = a.take("k");
      if (taken.result == no) {
        std::this_thread::yield();
        continue;
      }
      if (taken.result != yes) return taken;
      if (inside.fetch_add(1) != 0) ++overlaps;
      if (!a.follows(taken.fence, last)) ++gaps;
      last = taken.fence;
      inside.fetch_sub(1);
      const reply freed = a.release("k", taken.fence);
      if (freed.result != yes) return freed;
      ++done;
    }
    return {.result = yes};
  });
  for (const reply& each : replies) CHECK(answer(each) == yes);
  CHECK(overlaps == 0);
  CHECK(gaps == 0);
}

TEST_CASE("kept only: a session is opened once, renewed while it lives, and ends with all that it keeps",
          "[contract][T16]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  CHECK(a.session(session_verb::open, a.id, for_moments) == no);
  a.acquire("k1");
  a.acquire("k2");
  for (int i = 0; i < 3; ++i) CHECK(a.renew(for_long) == yes);
  CHECK(b.kill(a.id) == no);
  CHECK(b.session(session_verb::renew, id128::random(), for_long) == no);
  CHECK(b.session(session_verb::close, id128::random(), 0us) == no);
  CHECK(a.close() == yes);
  CHECK(a.close() == no);
  CHECK(a.renew(for_long) == no);
  CHECK(answer(b.take("k1")) == yes);
  CHECK(answer(b.take("k2")) == yes);
}

TEST_CASE("kept only: a grant belongs to its session, each verb about it may go over another connection",
          "[contract][T95]") {
  const auto place = make_store_place();
  actor holder(*place), other(*place);
  std::vector<std::unique_ptr<connection>> before;  // they stay open
  const auto connect_anew = [&] {
    fault why;
    before.push_back(std::exchange(holder.connection, holder.store->connect(10s, why)));
    REQUIRE(holder.connection != nullptr);
  };
  const auto fence = holder.acquire("k");
  connect_anew();
  CHECK(holder.at("k").holder == holder.id);
  CHECK(holder.renew(for_long) == yes);
  connect_anew();
  CHECK(answer(other.take("k")) == no);
  CHECK(answer(holder.release("k", fence)) == yes);
  holder.acquire("k");
  connect_anew();
  CHECK(answer(holder.cancel("k", holder.nonce)) == yes);
  CHECK(answer(other.take("k")) == yes);
}

TEST_CASE("kept only: a revoked session is not renewed, and what it keeps is free when it has ended", "[contract]") {
  const auto place = make_store_place();
  actor a(*place), b(*place);
  a.acquire("k");
  CHECK_FALSE(b.inspected("k").at(0).revoked);
  REQUIRE(answer(b.store->admin()->revoke(*b.connection, {.resource = "k"})) == yes);
  CHECK(answer(b.store->admin()->revoke(*b.connection, {.resource = "nobody's"})) == no);
  CHECK(b.inspected("k").at(0).revoked);
  CHECK(answer(b.take("k")) == no);
  CHECK(a.renew(for_long) == no);
  CHECK(a.close() == yes);
  CHECK(answer(b.take("k")) == yes);
}

TEST_CASE("kept only: inspect and list show the holders, in byte order", "[contract]") {
  const auto place = make_store_place();
  actor a(*place, for_long, "billing"), b(*place);
  CHECK(b.inspected("k").empty());
  CHECK(listed(b, "", 100).empty());
  const auto fence = a.acquire("k");
  const auto shown = b.inspected("k");
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].key == "k");
  CHECK(shown[0].session == a.id);
  CHECK(shown[0].fence == fence);
  CHECK(shown[0].host == "host-a");
  CHECK(shown[0].pid == 4242);
  CHECK(shown[0].label == "billing");
  CHECK(shown[0].kind == lease_kind::session);
  CHECK_FALSE(shown[0].dead);
  REQUIRE(answer(a.release("k", fence)) == yes);
  CHECK(b.inspected("k").empty());

  for (const char* key : {"b", "B", "a/a", "\xff", "ab"}) a.acquire(key);
  REQUIRE(answer(a.release("c", a.acquire("c"))) == yes);
  using keys = std::vector<std::string>;
  CHECK(listed(b, "", 100) == keys{"B", "a/a", "ab", "b", "\xff"});
  CHECK(listed(b, "", 2) == keys{"B", "a/a"});
  CHECK(listed(b, "a/a", 2) == keys{"ab", "b"});
  CHECK(listed(b, "\xff", 2).empty());
  CHECK(listed(b, "", 0).empty());
}

}  // namespace dlock::test
