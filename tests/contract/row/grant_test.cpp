// SPDX-License-Identifier: BSL-1.0

/// take, look, take over, release: who gets a row, and what the row says of it.

#include <catch2/generators/catch_generators.hpp>
#include <deque>
#include <functional>
#include <future>
#include <thread>

#include "contract/row/row_contract.hpp"

namespace dlock::test {

TEST_CASE("row: a free row is granted by one statement, which writes owner and fence", "[contract][rows]") {
  const auto not_null = GENERATE(false, true);
  row_scene s({.owner_not_null = not_null});
  row_actor a(s);
  const auto row = s.make(1);
  CHECK_FALSE(a.at(row).holder);
  const reply taken = a.take(row);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == 1);
  CHECK(s.owner(row) == a.text());
  CHECK(s.owner(row).size() == 49);
  CHECK(s.number(s.table->fence, row) == 1);
  CHECK(s.value(s.table->expires_at, row).empty());
  REQUIRE(answer(a.release(row, 1)) == outcome::yes);
  CHECK(s.owner(row).empty());
  CHECK(s.number(s.table->fence, row) == 1);
}

TEST_CASE("row: one owner at a time, and no re-entry in the table", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto other = s.make(2);
  const auto fence = a.acquire(row);
  CHECK(answer(b.take(row)) == outcome::no);
  CHECK(answer(b.take(row, for_long)) == outcome::no);
  CHECK(answer(a.take(row)) == outcome::no);
  --a.nonce;
  CHECK(answer(b.take(other)) == outcome::yes);
  REQUIRE(answer(a.release(row, fence)) == outcome::yes);
  CHECK(answer(b.take(row)) == outcome::yes);
  CHECK(a.at(row).holder == b.id);
}

TEST_CASE("row: fences have no gap, and busy attempts raise nothing", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  for (std::uint64_t i = 1; i != 6; ++i) {
    auto& who = i % 2 == 0 ? a : b;
    auto& other = i % 2 == 0 ? b : a;
    CHECK(who.acquire(row) == i);
    CHECK(answer(other.take(row)) == outcome::no);
    CHECK(s.number(s.table->version, row) == i);  // at each grant, and only then
    REQUIRE(answer(who.release(row, i)) == outcome::yes);
    CHECK(s.number(s.table->fence, row) == i);
    CHECK(s.number(s.table->version, row) == i);
  }
}

TEST_CASE("row: a poll shows the holder, its attempt, how it is kept and who it is", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row);
  const seen kept = b.at(row);
  CHECK(kept.holder == a.id);
  CHECK(kept.nonce == a.nonce);
  CHECK(kept.fence == fence);
  CHECK(kept.kind == lease_kind::session);
  CHECK_FALSE(kept.gone);
  CHECK_FALSE(kept.expired);
  CHECK(kept.remaining > for_long - 1min);
  CHECK(kept.remaining <= for_long);
  CHECK(kept.who == "host-a/4242 worker");
  REQUIRE(answer(a.release(row, fence)) == outcome::yes);
  CHECK_FALSE(b.at(row).holder);

  a.acquire(row, 20min);
  const seen own = b.at(row);
  CHECK(own.holder == a.id);
  CHECK(own.kind == lease_kind::expiring);
  CHECK_FALSE(own.expired);
  CHECK(own.remaining > 19min);
  CHECK(own.remaining <= 20min);
}

TEST_CASE("row: a row that is not there is absent, and none is made", "[contract][rows]") {
  row_scene s;
  row_actor a(s);
  const auto row = s.key({std::int64_t{7}});
  CHECK(answer(a.take(row)) == outcome::no);
  CHECK(answer(a.poll(row)) == outcome::absent);
  CHECK(answer(a.run(a.about(verb::insert, row))) == outcome::absent);
  CHECK(s.app->one("SELECT COUNT(*) FROM " + s.table->table) == "0");
}

TEST_CASE("row: release, extend and cancel by anybody else change nothing", "[contract][rows][T59]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row, for_long);
  b.nonce = a.nonce;  // the same number in another session
  CHECK(answer(b.release(row, fence)) == outcome::no);
  CHECK(answer(b.extend(row, fence, 2 * for_long)) == outcome::no);
  CHECK(answer(b.cancel(row)) == outcome::no);
  for (const auto other : {fence + 1, fence - 1}) {  // of the very same attempt
    CHECK(answer(a.release(row, other)) == outcome::no);
    CHECK(answer(a.extend(row, other, 2 * for_long)) == outcome::no);
  }
  --a.nonce;  // an attempt before
  CHECK(answer(a.release(row, fence)) == outcome::no);
  CHECK(answer(a.extend(row, fence, 2 * for_long)) == outcome::no);
  CHECK(answer(a.cancel(row)) == outcome::no);
  ++a.nonce;
  CHECK(b.at(row).holder == a.id);
  CHECK(b.at(row).remaining <= for_long);
  CHECK(answer(a.extend(row, fence, 2 * for_long)) == outcome::yes);
  CHECK(b.at(row).remaining > for_long);
  CHECK(answer(a.extend(row, fence, for_moments)) == outcome::yes);
  CHECK(b.at(row).remaining > for_long);  // never shorter
  CHECK(answer(a.cancel(row)) == outcome::yes);
  CHECK_FALSE(b.at(row).holder);
  CHECK(answer(a.cancel(row)) == outcome::no);
  CHECK(answer(a.release(row, fence)) == outcome::no);
}

TEST_CASE("row: a grant with an expiry of its own is free when that has passed", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row, for_moments);
  pass_until(*s.fixture, [&] { return b.at(row).expired; });
  const seen old = b.at(row);
  CHECK(old.holder == a.id);
  CHECK(answer(a.extend(row, fence, for_long)) == outcome::no);
  CHECK(b.acquire(row) == fence + 1);
  CHECK(b.at(row).kind == lease_kind::session);  // the old expiry is not left behind
  CHECK(answer(a.take_over(row, old)) == outcome::no);

  REQUIRE(answer(b.release(row, fence + 1)) == outcome::yes);
  a.acquire(row, for_moments);
  pass_until(*s.fixture, [&] { return b.at(row).expired; });
  CHECK(answer(b.take_over(row, b.at(row))) == outcome::yes);
  CHECK(b.at(row).kind == lease_kind::session);
}

TEST_CASE("row: an expiry of its own ends the lock when it has passed, and not a moment before",
          "[contract][rows][T30]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto now = [&] { return std::stoll(*s.app->one("SELECT " + s.fixture->expiry(0us))); };
  for (int round = 0; round != 5; ++round) {
    a.acquire(row, for_long);
    // Near enough that a mistake of 200 ms would give it away at once.
    const auto end = now() + 190'000;
    REQUIRE(s.set(s.table->expires_at + "=" + std::to_string(end), row) == 1);
    reply taken = round % 2 == 0 ? b.take(row) : b.take_over(row, b.at(row));
    auto answered = now();
    for (; taken.result != outcome::yes && answered < end + 20'000'000; answered = now()) {
      s.fixture->pass(5ms);
      taken = round % 2 == 0 ? b.take(row) : b.take_over(row, b.at(row));
    }
    REQUIRE(answer(taken) == outcome::yes);
    CHECK(answered >= end);
    CHECK(answered < end + 10'000'000);
    REQUIRE(answer(b.release(row, taken.fence)) == outcome::yes);
  }
}

TEST_CASE("row: a dead holder's row is taken over by what was seen, a living one's never", "[contract][rows][T57]") {
  row_scene s;
  row_actor a(s), b(s), c(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row);
  const seen first = b.at(row);
  CHECK(answer(b.take_over(row, first)) == outcome::no);  // alive
  REQUIRE(a.close() == outcome::yes);
  CHECK(answer(b.take(row)) == outcome::no);  // a take never decides by another's session
  const seen gone = b.at(row);
  CHECK(gone.gone);
  CHECK(gone.holder == a.id);
  seen wrong = gone;
  wrong.fence = fence + 1;
  CHECK(answer(b.take_over(row, wrong)) == outcome::no);
  wrong = gone;
  wrong.nonce = gone.nonce + 1;
  CHECK(answer(b.take_over(row, wrong)) == outcome::no);
  wrong = gone;
  wrong.holder = id128::random();
  CHECK(answer(b.take_over(row, wrong)) == outcome::no);
  const reply taken = b.take_over(row, gone);
  REQUIRE(answer(taken) == outcome::yes);
  CHECK(taken.fence == fence + 1);
  CHECK(s.owner(row) == b.text());
  CHECK(answer(c.take_over(row, gone)) == outcome::no);  // stale sight
  CHECK(answer(c.take_over(row, first)) == outcome::no);
  CHECK(s.number(s.table->version, row) == fence + 1);
}

TEST_CASE("row: an expired session is killed before its row is taken over", "[contract][rows]") {
  row_scene s;
  row_actor a(s, for_moments), b(s);
  const auto row = s.make(1);
  a.acquire(row);
  pass_until(*s.fixture, [&] { return b.at(row).expired; });
  const seen expired = b.at(row);
  CHECK_FALSE(expired.gone);
  CHECK(answer(b.take_over(row, expired)) == outcome::no);
  REQUIRE(b.kill(a.id) == outcome::yes);
  CHECK(b.at(row).gone);
  CHECK(answer(b.take_over(row, expired)) == outcome::yes);
}

TEST_CASE("row: a live own expiry is not taken over", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  a.acquire(row, for_long);
  a.close();  // means nothing to a grant with an expiry of its own
  seen now = b.at(row);
  CHECK(now.kind == lease_kind::expiring);
  CHECK(answer(b.take_over(row, now)) == outcome::no);
  now.kind = lease_kind::session;
  now.gone = true;  // a lie, or what it was before
  CHECK(answer(b.take_over(row, now)) == outcome::no);
  CHECK(b.at(row).holder == a.id);
}

TEST_CASE("row: a free row is not taken over", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const auto row = s.make(1);
  const auto fence = a.acquire(row);
  const seen held = b.at(row);
  REQUIRE(answer(a.release(row, fence)) == outcome::yes);
  a.close();
  CHECK(answer(b.take_over(row, held)) == outcome::no);
  CHECK(answer(b.take_over(row, b.at(row))) == outcome::no);
}

TEST_CASE("row: a lock that another program wrote holds, with an expiry until that has passed", "[contract][rows]") {
  row_scene s;
  row_actor a(s);
  const auto row = s.make(1);
  for (const char* owner : {"payment-7", "00000000000000000000000000000000/000000000000000g", "x"}) {
    INFO(owner);
    s.set(s.table->owner + "=" + s.fixture->literal(owner) + ", " + s.table->expires_at + "=NULL", row);
    const seen for_ever = a.at(row);
    CHECK(for_ever.holder);
    CHECK(for_ever.kind == lease_kind::session);
    CHECK_FALSE(for_ever.gone);
    CHECK_FALSE(for_ever.expired);
    CHECK(for_ever.remaining > 1min);
    CHECK(for_ever.who == owner);
    CHECK(answer(a.take(row)) == outcome::no);
    CHECK(answer(a.take_over(row, for_ever)) == outcome::no);
  }
  s.set(s.table->expires_at + "=" + s.fixture->expiry(1h), row);
  const seen held = a.at(row);
  CHECK(held.kind == lease_kind::expiring);
  CHECK_FALSE(held.expired);
  CHECK(held.remaining > 59min);
  CHECK(answer(a.take_over(row, held)) == outcome::no);
  s.set(s.table->expires_at + "=" + s.fixture->expiry(-1s), row);
  const seen past = a.at(row);
  CHECK(past.expired);
  seen wrong = past;
  wrong.fence += 1;
  CHECK(answer(a.take_over(row, wrong)) == outcome::no);
  CHECK(answer(a.take_over(row, past)) == outcome::yes);
  CHECK(a.at(row).holder == a.id);
}

TEST_CASE("row: polls of many rows show each its own holder, in a collation that takes several ids for the same too",
          "[contract][rows]") {
  row_scene texts({.id = row_id_kind::text});
  row_actor a(texts), b(texts);
  std::vector<lock_key> rows;
  for (const std::string id : {"a", "b'\\", "gr\xc3\xbc\xc3\x9f", "%"}) rows.push_back(texts.make(id));
  for (const std::string id : {"A", "absent", "a ", "", "{b}"}) rows.push_back(texts.key({id}));
  a.acquire(rows[0]);
  b.acquire(rows[1], 20s);
  std::vector<request> requests;
  for (const auto& row : rows) requests.push_back(a.about(verb::poll, row));
  const auto replies = a.run(requests);
  for (std::size_t i = 0; i != rows.size(); ++i) {
    INFO(printable(rows[i]));
    const auto alone = a.poll(rows[i]);
    CHECK(answer(replies[i]) == answer(alone));
    CHECK(replies[i].holder.holder == alone.holder.holder);
    CHECK(replies[i].holder.nonce == alone.holder.nonce);
    CHECK(replies[i].holder.fence == alone.holder.fence);
    CHECK(replies[i].holder.who == alone.holder.who);
    if (texts.fixture->locks_rows()) CHECK(replies[i].statements == (i == 0 ? 1u : 0u));  // a file has no round trips
  }
  CHECK(replies[1].holder.holder == b.id);
}

TEST_CASE("row: text and composite ids name exactly their row", "[contract][rows][T56]") {
  row_scene texts({.id = row_id_kind::text});
  row_actor a(texts);
  const std::vector<std::string> ids = {
      "a",     "A",   "a'b", "a\\'b", "a\"b", "%", "_", "; -- ", "", "gr\xc3\xbc\xc3\x9f", "\xf0\x9f\x94\x92",
      "x'41'", "`a`", "{a}", "a\nb"};
  std::vector<lock_key> rows;
  for (const auto& id : ids) rows.push_back(texts.make(id));
  for (const auto& row : rows) {
    INFO(printable(row));
    CHECK(a.acquire(row) == 1);
    CHECK(texts.owner(row) == a.text());
    CHECK(texts.app->one("SELECT COUNT(*) FROM " + texts.table->table + " WHERE " + texts.table->owner + "=" +
                         texts.fixture->literal(a.text())) == "1");
    CHECK(answer(a.release(row, 1)) == outcome::yes);
  }

  row_scene pairs({.id = row_id_kind::composite});
  row_actor b(pairs), c(pairs);
  const auto first = pairs.make(1, "x");
  const auto second = pairs.make(1, "y");
  const auto third = pairs.make(-2, "x");
  b.acquire(first);
  CHECK(answer(c.take(first)) == outcome::no);
  CHECK(c.acquire(second) == 1);
  CHECK(c.acquire(third) == 1);
  CHECK(b.at(first).holder == b.id);
  CHECK(answer(b.release(first, 1)) == outcome::yes);
  CHECK(b.at(second).holder == c.id);
}

TEST_CASE("row: several requests of one verb are answered one by one", "[contract][rows]") {
  row_scene s;
  row_actor a(s), b(s);
  const std::vector<lock_key> rows = {s.make(1), s.make(2), s.make(3)};
  b.acquire(rows[1]);
  auto asked = a.takes(rows);
  auto replies = a.run(asked);
  CHECK(answer(replies[0]) == outcome::yes);
  CHECK(answer(replies[1]) == outcome::no);
  CHECK(answer(replies[2]) == outcome::yes);
  for (auto& each : asked) {
    each.action = verb::release;
    each.fence = 1;
  }
  replies = a.run(asked);
  CHECK(answer(replies[0]) == outcome::yes);
  CHECK(answer(replies[1]) == outcome::no);
  CHECK(answer(replies[2]) == outcome::yes);
}

TEST_CASE("row: of many who want a row at once one gets it, and no fence is given twice", "[contract][rows]") {
  row_scene s;
  const auto row = s.make(1);
  constexpr int grants_each = 25;
  const auto work = [&](row_actor& me) {
    bool fine = true;
    std::uint64_t last = 0;
    for (int i = 0; i != grants_each;) {
      const reply taken = me.take(row);
      if (taken.result != outcome::yes) {
        fine = fine && (taken.result == outcome::no || taken.why.contended);
        std::this_thread::yield();
        continue;
      }
      ++i;
      const seen now = me.poll(row).holder;
      fine = fine && taken.fence > last && now.holder == me.id && now.fence == taken.fence;
      last = taken.fence;
      reply back = me.release(row, taken.fence);
      while (back.result == outcome::failed && back.why.contended) back = me.release(row, taken.fence);
      fine = fine && back.result == outcome::yes;
      if (!fine) break;
    }
    return fine;
  };
  std::deque<row_actor> actors;  // made here: what they check as they begin is no matter for several threads
  for (int i = 0; i != 4; ++i) actors.emplace_back(s);
  std::vector<std::future<bool>> workers;
  for (auto& each : actors) workers.push_back(std::async(std::launch::async, work, std::ref(each)));
  for (auto& each : workers) CHECK(each.get());
  CHECK(s.number(s.table->fence, row) == 4 * grants_each);
  CHECK(s.number(s.table->version, row) == 4 * grants_each);
}

}  // namespace dlock::test
