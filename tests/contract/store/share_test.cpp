// SPDX-License-Identifier: BSL-1.0

/// Readers, permits, and how an exclusive caller comes in between. Of stores with capabilities::shares.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

namespace {

request member(actor& by, verb action, std::string_view key, std::uint32_t units = 1, std::uint32_t permits = 0) {
  auto asked = by.about(action, key);
  asked.units = units;
  asked.permits = permits;
  asked.nonce = by.nonce;
  return asked;
}

/// Joins as the engine does: take, then poll, and insert or take again. Several threads do it at a time, so it asserts
/// nothing.
reply join(actor& by, std::string_view key, std::uint32_t units = 1, std::uint32_t permits = 0) {
  auto asked = member(by, verb::take, key, units, permits);
  asked.nonce = ++by.nonce;
  reply got = by.run(asked);
  if (got.result != outcome::no) return got;
  const reply seen = by.run(member(by, verb::poll, key, units, permits));
  if (seen.result == outcome::absent) {
    asked.action = verb::insert;
    return by.run(asked);
  }
  if (seen.result != outcome::yes || seen.holder.holder) return {.result = outcome::no, .holder = seen.holder};
  asked.polled = true;
  return by.run(asked);
}

reply leave(actor& by, std::string_view key, std::uint64_t nonce) {
  auto asked = member(by, verb::release, key);
  asked.nonce = nonce;
  return by.run(asked);
}

/// As an exclusive caller asks for a key with members: closes it, and takes it if none is left.
reply take_closed(actor& by, std::string_view key) {
  REQUIRE(answer(by.run(by.about(verb::close, key))) == outcome::yes);
  const reply seen = by.poll(key);
  REQUIRE(answer(seen) == outcome::yes);
  if (seen.holder.holder || seen.holder.shared != membership::closed)
    return {.result = outcome::no, .holder = seen.holder};
  auto asked = by.about(verb::take, key);
  asked.nonce = ++by.nonce;
  asked.polled = true;
  asked.expected = &seen.holder;
  return by.run(asked);
}

struct shared_store : two_actors {
  shared_store() { REQUIRE(a.store->caps().shares); }
};

}  // namespace

TEST_CASE_METHOD(shared_store, "share: many read a key, and nobody has it for himself meanwhile") {
  CHECK(answer(join(a, "k")) == outcome::yes);
  const auto of_a = a.nonce;
  CHECK(answer(join(b, "k")) == outcome::yes);
  CHECK(answer(join(b, "k")) == outcome::yes);
  CHECK(answer(a.take("k")) == outcome::no);
  CHECK(answer(a.insert("k")) == outcome::no);
  const seen shown = a.at("k");
  CHECK(shown.shared == membership::open);
  CHECK(shown.holder);
  CHECK_FALSE(shown.gone);
  CHECK(answer(a.take_over("k", {.holder = shown.holder, .fence = shown.fence})) == outcome::no);
  CHECK(answer(leave(a, "k", of_a)) == outcome::yes);
  CHECK(answer(leave(a, "k", of_a)) == outcome::no);
  CHECK(answer(leave(b, "k", b.nonce - 1)) == outcome::yes);
  CHECK(a.at("k").holder == b.id);
  CHECK(answer(a.take("k")) == outcome::no);
  CHECK(answer(leave(b, "k", b.nonce)) == outcome::yes);
  CHECK_FALSE(a.sees_held("k"));
}

TEST_CASE_METHOD(shared_store, "share: an exclusive holder keeps members out, and the key is shared after it") {
  const auto fence = a.acquire("k");
  CHECK(answer(join(b, "k")) == outcome::no);
  CHECK(answer(join(b, "k", 1, 5)) == outcome::no);
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  const reply got = join(b, "k");
  REQUIRE(answer(got) == outcome::yes);
  CHECK(got.fence == fence);  // says after which holder it comes
  CHECK(answer(a.release("k", fence)) == outcome::no);
  CHECK(a.at("k").shared == membership::open);
}

TEST_CASE_METHOD(shared_store,
                 "share: a key that is closed takes no members, and is granted when the last one has left") {
  REQUIRE(answer(join(a, "k")) == outcome::yes);
  const auto token = join(b, "k").fence;
  CHECK(take_closed(b, "k").holder.holder);
  CHECK(answer(join(a, "k")) == outcome::no);
  CHECK(answer(join(a, "k", 1, 100)) == outcome::no);
  CHECK(a.at("k").shared == membership::closed);
  REQUIRE(answer(leave(a, "k", 1)) == outcome::yes);
  CHECK(answer(take_closed(b, "k")) == outcome::no);
  REQUIRE(answer(leave(b, "k", 1)) == outcome::yes);
  const reply got = take_closed(b, "k");
  REQUIRE(answer(got) == outcome::yes);
  CHECK(got.fence == token + 1);
  CHECK(answer(join(a, "k")) == outcome::no);
  CHECK(b.sees(b, "k"));
  REQUIRE(answer(b.release("k", got.fence)) == outcome::yes);
  CHECK(answer(a.take("k")) == outcome::yes);
}

TEST_CASE_METHOD(shared_store, "share: who has seen a key closed and empty does not get it after it was open again") {
  REQUIRE(answer(join(a, "k")) == outcome::yes);
  REQUIRE(answer(leave(a, "k", a.nonce)) == outcome::yes);
  REQUIRE(answer(b.run(b.about(verb::close, "k"))) == outcome::yes);
  const seen empty = b.at("k");
  REQUIRE_FALSE(empty.holder);
  auto late = b.about(verb::take, "k");
  late.nonce = ++b.nonce;
  late.polled = true;
  late.expected = &empty;
  REQUIRE(answer(a.run(a.about(verb::open, "k"))) == outcome::yes);
  CHECK(answer(b.run(late)) == outcome::no);
  SECTION("a member has come and gone, and another caller has closed it") {
    REQUIRE(answer(join(a, "k")) == outcome::yes);
    REQUIRE(answer(a.run(a.about(verb::close, "k"))) == outcome::yes);
    CHECK(answer(b.run(late)) == outcome::no);
    REQUIRE(answer(leave(a, "k", a.nonce)) == outcome::yes);
    CHECK(answer(b.run(late)) == outcome::no);
    CHECK(answer(take_closed(b, "k")) == outcome::yes);
  }
}

TEST_CASE_METHOD(shared_store, "share: a key that two callers have closed is open when both have given up") {
  const auto says = [&](actor& by, verb action, std::uint64_t nonce) {
    auto asked = by.about(action, "k");
    asked.nonce = nonce;
    return answer(by.run(asked));
  };
  REQUIRE(answer(join(a, "k")) == outcome::yes);
  const auto first = GENERATE(11U, 12U), other = 23 - first;
  REQUIRE(says(a, verb::close, 11) == outcome::yes);
  REQUIRE(says(b, verb::close, 12) == outcome::yes);
  if (GENERATE(false, true)) REQUIRE(says(a, verb::close, 11) == outcome::yes);
  CHECK(says(a, verb::open, first) == outcome::yes);
  CHECK(a.at("k").shared == membership::closed);
  CHECK(answer(join(a, "k")) == outcome::no);
  SECTION("the other one gives up as well") {
    CHECK(says(b, verb::open, 13) == outcome::yes);  // a third one, whose closing was not heard
    CHECK(answer(join(a, "k")) == outcome::no);
    CHECK(says(b, verb::open, other) == outcome::yes);
    CHECK(answer(join(a, "k")) == outcome::yes);
    SECTION("and nothing of that is left in the next closing") {
      REQUIRE(says(a, verb::close, 14) == outcome::yes);
      CHECK(says(a, verb::open, 14) == outcome::yes);
      CHECK(answer(join(a, "k")) == outcome::yes);
    }
  }
  SECTION("the other one is granted the key") {
    REQUIRE(answer(leave(a, "k", 1)) == outcome::yes);
    REQUIRE(answer(take_closed(b, "k")) == outcome::yes);
    CHECK(says(b, verb::open, other) == outcome::no);
    CHECK(b.sees(b, "k"));
  }
}

TEST_CASE_METHOD(shared_store, "share: a closing ends when the caller for whom it stays is gone") {
  REQUIRE(answer(join(a, "k")) == outcome::yes);
  for (const std::uint64_t nonce : {11U, 12U}) {
    auto closes = b.about(verb::close, "k");
    closes.nonce = nonce;
    REQUIRE(answer(b.run(closes)) == outcome::yes);
  }
  auto opens = b.about(verb::open, "k");
  opens.nonce = 12;
  REQUIRE(answer(b.run(opens)) == outcome::yes);
  CHECK(answer(join(a, "k")) == outcome::no);
  fixture->pass(closed_for + 100ms);
  CHECK(answer(join(a, "k")) == outcome::yes);
}

TEST_CASE_METHOD(shared_store,
                 "share: closing again changes nothing, and what is not shared is neither closed nor opened") {
  REQUIRE(answer(join(a, "k")) == outcome::yes);
  REQUIRE(answer(b.run(b.about(verb::close, "k"))) == outcome::yes);
  const seen before = b.at("k");
  REQUIRE(answer(a.run(a.about(verb::close, "k"))) == outcome::yes);
  CHECK(b.at("k").closing == before.closing);
  CHECK(answer(a.run(a.about(verb::open, "k"))) == outcome::yes);
  CHECK(answer(a.run(a.about(verb::open, "k"))) == outcome::no);
  a.acquire("own");
  for (const auto* key : {"own", "never"}) {
    CHECK(answer(b.run(b.about(verb::close, key))) == outcome::no);
    CHECK(answer(b.run(b.about(verb::open, key))) == outcome::no);
  }
}

TEST_CASE_METHOD(shared_store, "share: a closing that nobody repeats counts for some seconds") {
  REQUIRE(answer(join(a, "k")) == outcome::yes);
  REQUIRE(answer(b.run(b.about(verb::close, "k"))) == outcome::yes);
  CHECK_FALSE(b.at("k").stale);
  const reply refused = join(a, "k");
  CHECK(answer(refused) == outcome::no);
  CHECK(refused.holder.remaining > 0us);
  CHECK(refused.holder.remaining <= closed_for);
  fixture->pass(closed_for / 3);
  CHECK(b.at("k").stale);
  REQUIRE(answer(b.run(b.about(verb::close, "k"))) == outcome::yes);
  CHECK_FALSE(b.at("k").stale);
  fixture->pass(closed_for);
  CHECK(answer(join(a, "k")) == outcome::yes);
  CHECK(b.at("k").shared == membership::open);
}

TEST_CASE_METHOD(shared_store, "share: permits are counted by units, and each caller is held to its own number") {
  CHECK(answer(join(a, "k", 2, 5)) == outcome::yes);
  const auto two = a.nonce;
  CHECK(answer(join(b, "k", 3, 5)) == outcome::yes);
  const reply full = join(a, "k", 1, 5);
  CHECK(answer(full) == outcome::no);
  CHECK(full.holder.shared == membership::open);
  CHECK(full.holder.holder);
  CHECK(answer(join(a, "k", 1, 6)) == outcome::yes);
  CHECK(answer(join(a, "k", 1, 6)) == outcome::no);
  CHECK(answer(leave(a, "k", two)) == outcome::yes);
  CHECK(answer(join(a, "k", 1, 5)) == outcome::yes);
  CHECK(answer(join(a, "k", 1, 5)) == outcome::no);
}

TEST_CASE_METHOD(shared_store, "share: an attempt that was cancelled holds nothing") {
  REQUIRE(answer(join(a, "k", 1, 1)) == outcome::yes);
  CHECK(answer(b.run(member(b, verb::cancel, "k"))) == outcome::no);
  CHECK(answer(join(b, "k", 1, 1)) == outcome::no);
  CHECK(answer(a.run(member(a, verb::cancel, "k"))) == outcome::yes);
  CHECK(answer(join(b, "k", 1, 1)) == outcome::yes);
}

TEST_CASE_METHOD(shared_store, "share: the units of a dead session come back, and those of a living one do not") {
  REQUIRE(answer(join(a, "k", 1, 2)) == outcome::yes);
  REQUIRE(answer(join(b, "k", 1, 2)) == outcome::yes);
  actor c(*fixture);
  CHECK(answer(join(c, "k", 1, 2)) == outcome::no);
  // Whom nobody has seen dead stays.
  const seen living{.holder = b.id, .kind = lease_kind::session, .gone = true, .shared = membership::open};
  CHECK(answer(c.take_over("k", living)) == outcome::no);
  CHECK(answer(join(c, "k", 1, 2)) == outcome::no);
  REQUIRE(a.close() == outcome::yes);
  const seen left = c.run(member(c, verb::poll, "k", 1, 2)).holder;
  CHECK(left.holder == a.id);
  CHECK(left.gone);
  CHECK(answer(c.take_over("k", left)) == outcome::no);  // which removes it, and grants nothing
  CHECK(answer(join(c, "k", 1, 2)) == outcome::yes);
  CHECK(c.at("k").holder != a.id);
}

TEST_CASE_METHOD(shared_store, "share: an exclusive caller removes dead members, and not the living") {
  REQUIRE(answer(join(a, "k")) == outcome::yes);
  REQUIRE(answer(join(b, "k")) == outcome::yes);
  REQUIRE(b.close() == outcome::yes);
  actor c(*fixture);
  const auto first = take_closed(c, "k");
  REQUIRE(first.holder.gone);
  CHECK(answer(c.take_over("k", first.holder)) == outcome::no);
  const auto second = take_closed(c, "k");
  CHECK(second.holder.holder == a.id);
  CHECK_FALSE(second.holder.gone);
  REQUIRE(answer(leave(a, "k", a.nonce)) == outcome::yes);
  CHECK(answer(take_closed(c, "k")) == outcome::yes);
}

TEST_CASE_METHOD(shared_store, "share: a reader takes over from a dead exclusive holder, and not from a living one") {
  a.acquire("k");
  seen holder = b.at("k");
  const auto take_over = [&] {
    auto asked = member(b, verb::take_over, "k");
    asked.nonce = ++b.nonce;
    asked.expected = &holder;
    return b.run(asked);
  };
  CHECK(answer(take_over()) == outcome::no);
  REQUIRE(a.close() == outcome::yes);
  holder = b.at("k");
  REQUIRE(holder.gone);
  const reply got = take_over();
  CHECK(answer(got) == outcome::yes);
  CHECK(got.fence == holder.fence);
  CHECK(b.at("k").shared == membership::open);
}

TEST_CASE_METHOD(shared_store, "share: the holder becomes a member in one step, and its key is open from then on") {
  const auto fence = a.acquire("k");
  auto asked = member(a, verb::pass_on, "k");
  asked.nonce = ++a.nonce;
  asked.fence = fence + 1;
  CHECK(answer(a.run(asked)) == outcome::no);
  asked.fence = fence;
  auto others = asked;
  others.session = b.id;
  CHECK(answer(b.run(others)) == outcome::no);
  CHECK(a.sees(a, "k"));  // nothing has changed
  CHECK(a.at("k").shared == membership::none);

  const reply got = a.run(asked);
  REQUIRE(answer(got) == outcome::yes);
  CHECK(got.fence == fence);
  const seen now = b.at("k");
  CHECK(now.shared == membership::open);
  CHECK(now.holder == a.id);
  CHECK(now.fence == fence);
  CHECK(answer(a.release("k", fence)) == outcome::no);  // it is not exclusive any more
  asked.nonce = ++a.nonce;
  CHECK(answer(a.run(asked)) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::no);
  CHECK(answer(join(b, "k")) == outcome::yes);
  CHECK(answer(leave(b, "k", b.nonce)) == outcome::yes);
  CHECK(answer(take_closed(b, "k")) == outcome::no);
  CHECK(answer(leave(a, "k", a.nonce)) == outcome::no);  // that attempt was refused
  CHECK(answer(leave(a, "k", a.nonce - 1)) == outcome::yes);
  const reply next = take_closed(b, "k");
  CHECK(answer(next) == outcome::yes);
  CHECK(next.fence == fence + 1);
}

TEST_CASE_METHOD(shared_store, "share: a holder that was taken over does not become a member") {
  const auto fence = a.acquire("k");
  REQUIRE(a.close() == outcome::yes);
  const seen dead = b.at("k");
  REQUIRE(answer(b.take_over("k", dead)) == outcome::yes);
  auto late = member(a, verb::pass_on, "k");
  late.nonce = ++a.nonce;
  late.fence = fence;
  CHECK(answer(a.run(late)) == outcome::no);
  CHECK(b.sees(b, "k"));
  CHECK(answer(leave(a, "k", a.nonce)) == outcome::no);
}

TEST_CASE_METHOD(shared_store, "share: operators see all members, and revoke their sessions") {
  REQUIRE(answer(join(a, "k")) == outcome::yes);
  REQUIRE(answer(join(b, "k")) == outcome::yes);
  b.acquire("other");
  const auto found = a.inspected("k");
  REQUIRE(found.size() == 2);
  CHECK(found[0].session != found[1].session);
  for (const auto& each : found) {
    CHECK((each.session == a.id || each.session == b.id));
    CHECK(each.key == "k");
    CHECK(each.label == "worker");
    CHECK_FALSE(each.dead);
    CHECK(each.remaining > 1min);
  }
  std::vector<holder_info> listed;
  REQUIRE(answer(a.store->admin()->list(*a.connection, "", 100, listed)) == outcome::yes);
  CHECK(listed.size() == 3);
  CHECK(a.revoke("k") == outcome::yes);
  CHECK(a.renew(for_long) == outcome::no);
  CHECK(b.renew(for_long) == outcome::no);
  REQUIRE(answer(leave(a, "k", a.nonce)) == outcome::yes);
  REQUIRE(answer(leave(b, "k", b.nonce - 1)) == outcome::no);
  REQUIRE(answer(leave(b, "k", 1)) == outcome::yes);
  CHECK(a.inspected("k").empty());
  CHECK(a.revoke("k") == outcome::no);
}

TEST_CASE_METHOD(shared_store, "share: clean-up keeps members and frees what they have left") {
  REQUIRE(answer(join(a, "kept")) == outcome::yes);
  REQUIRE(answer(join(a, "left")) == outcome::yes);
  const auto fence = join(a, "left").fence;
  REQUIRE(answer(leave(a, "left", a.nonce)) == outcome::yes);
  REQUIRE(answer(leave(a, "left", a.nonce - 1)) == outcome::yes);
  REQUIRE(answer(join(b, "dead")) == outcome::yes);
  REQUIRE(b.close() == outcome::yes);
  fixture->pass(20ms);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(answer(a.store->admin()->cleanup(*a.connection, 10ms, 100)) == outcome::yes);
    fixture->pass(20ms);
  }
  CHECK(a.at("kept").shared == membership::open);
  CHECK(answer(a.take("kept")) == outcome::no);
  CHECK(a.at("left").shared == membership::none);
  CHECK(a.at("dead").shared == membership::none);
  CHECK(a.acquire("left") > fence);
}

TEST_CASE_METHOD(shared_store, "share: clean-up by a program that shares nothing frees what others have left") {
  const auto fence = join(a, "left").fence;
  REQUIRE(answer(leave(a, "left", a.nonce)) == outcome::yes);
  fixture->pass(20ms);
  actor gc(*fixture);  // as dlock gc
  for (int i = 0; i < 3; ++i) REQUIRE(answer(gc.store->admin()->cleanup(*gc.connection, 10ms, 100)) == outcome::yes);
  CHECK(b.at("left").shared == membership::none);
  CHECK(b.acquire("left") > fence);
}

TEST_CASE_METHOD(shared_store,
                 "share: a key that its members have left counts as free, and hides no other from a list") {
  for (const auto* const key : {"a", "b", "c", "e"}) {
    REQUIRE(answer(join(a, key)) == outcome::yes);
    REQUIRE(answer(leave(a, key, a.nonce)) == outcome::yes);
  }
  b.acquire("d");
  REQUIRE(answer(join(b, "f")) == outcome::yes);
  store_overview all;
  REQUIRE(answer(a.store->admin()->overview(*a.connection, 10, all)) == outcome::yes);
  CHECK(all.held == 2);
  CHECK(all.longest.size() == 2);
  store_overview first;
  REQUIRE(answer(a.store->admin()->overview(*a.connection, 1, first)) == outcome::yes);
  CHECK(first.longest.size() == 1);
  for (const std::size_t limit : {1U, 2U, 10U}) {
    std::vector<holder_info> listed;
    REQUIRE(answer(a.store->admin()->list(*a.connection, "", limit, listed)) == outcome::yes);
    REQUIRE(listed.size() == std::min<std::size_t>(limit, 2));
    CHECK(listed[0].key == "d");
  }
}

TEST_CASE_METHOD(any_store, "share: of many that ask at the same time no more get permits than there are") {
  constexpr std::uint32_t permits = 3;
  auto all = crowd(*fixture, 8);
  REQUIRE(answer(join(*all[0], "k", 1, permits)) == outcome::yes);
  REQUIRE(answer(leave(*all[0], "k", all[0]->nonce)) == outcome::yes);
  std::atomic<int> inside{0}, most{0}, granted{0};
  all_at_once(all, [&](actor& one) {
    for (int i = 0; i < 60; ++i) {
      const reply got = join(one, "k", 1, permits);
      if (got.result != outcome::yes) continue;
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      ++granted;
      std::this_thread::yield();
      --inside;
      while (leave(one, "k", one.nonce).result != outcome::yes) {
      }
    }
    return reply{};
  });
  CHECK(most <= static_cast<int>(permits));
  CHECK(granted > 0);
}

TEST_CASE_METHOD(any_store, "share: readers and an exclusive holder are never inside together") {
  auto all = crowd(*fixture, 8);
  std::atomic<int> readers{0}, writers{0}, wrong{0}, read{0}, written{0};
  REQUIRE(answer(join(*all[0], "k")) == outcome::yes);
  REQUIRE(answer(leave(*all[0], "k", all[0]->nonce)) == outcome::yes);
  all_at_once(all, [&](actor& one) {
    const bool writes = &one == all[0].get() || &one == all[1].get();
    // The readers come to an end, so a writer gets its turn.
    for (int i = 0; i < 60 || (writes && written == 0 && i < 100'000); ++i) {
      if (!writes) {
        if (join(one, "k").result != outcome::yes) continue;
        ++readers;
        if (writers != 0) ++wrong;
        ++read;
        std::this_thread::yield();
        --readers;
        while (leave(one, "k", one.nonce).result != outcome::yes) {
        }
        continue;
      }
      reply got = one.take("k");
      if (got.result != outcome::yes) {
        one.run(one.about(verb::close, "k"));
        const reply seen = one.poll("k");
        if (seen.result != outcome::yes || seen.holder.holder || seen.holder.shared != membership::closed) continue;
        auto asked = one.about(verb::take, "k");
        asked.nonce = ++one.nonce;
        asked.polled = true;
        asked.expected = &seen.holder;
        got = one.run(asked);
      }
      if (got.result != outcome::yes) continue;
      if (++writers != 1 || readers != 0) ++wrong;
      ++written;
      std::this_thread::yield();
      --writers;
      while (one.release("k", got.fence).result != outcome::yes) {
      }
    }
    return reply{};
  });
  CHECK(wrong == 0);
  CHECK(written > 0);
}

}  // namespace dlock::test
