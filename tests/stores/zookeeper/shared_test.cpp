// SPDX-License-Identifier: BSL-1.0

/// Readers and writers in one queue.

#include "dlock/lock_service.hpp"
#include "stores/zookeeper/zookeeper_fixtures.hpp"

namespace dlock::test {

namespace {

/// Waits for a key in a mode.
struct mode_listener final : key_listener {
  explicit mode_listener(const key_mode& wanted) : wanted_(wanted) {}
  void may_be_free(bool) noexcept override { ++calls; }
  key_mode mode() const noexcept override { return wanted_; }
  std::atomic<int> calls{0};

 private:
  const key_mode wanted_;
};

constexpr key_mode writes{}, reads{.units = 1};

request in_mode(actor& by, verb action, const key_mode& mode) {
  auto asked = by.about(action, "k");
  asked.units = mode.units;
  asked.permits = mode.permits;
  return asked;
}

int nodes_below(const zookeeper_server& server, const std::string& folder) {
  const auto text = server.ask("dump");
  int found = 0;
  for (auto at = text.find("/dlock/k/" + folder); at != std::string::npos; at = text.find("/dlock/k/" + folder, at + 1))
    ++found;
  return found;
}

reply take(actor& by, const key_mode& mode, bool registered = false) {
  auto asked = in_mode(by, verb::take, mode);
  asked.nonce = ++by.nonce;
  asked.registered = registered;
  return by.run(asked);
}

/// The attempt with that nonce.
reply leave(actor& by, std::uint64_t nonce) {
  auto asked = in_mode(by, verb::release, reads);
  asked.nonce = nonce;
  return by.run(asked);
}

/// A server, and a place on it where keys can be shared.
struct shared_zookeeper {
  const zookeeper_server server{};
  const std::string names = GENERATE(as<std::string>{}, "curator-readwrite", "kazoo");
  const std::string url = server.url("names=" + names);
  zookeeper_fixture fixture{url};

  /// Makes it wait for "k" in the server's queue.
  void stand_in(actor& who, mode_listener& listener) const {
    const auto before = nodes_of_key(server);
    who.store->watch("k", who.id, listener);
    REQUIRE(eventually([&] { return listener.calls == 1; }));
    REQUIRE(nodes_of_key(server) == before + 1);
  }
};

}  // namespace

TEST_CASE_METHOD(shared_zookeeper, "zookeeper: readers and writers wait for those before them, and for no others") {
  actor one(fixture), two(fixture), writer(fixture), third(fixture), fourth(fixture), last(fixture);
  const auto first = take(one, reads);
  REQUIRE(answer(first) == outcome::yes);
  const auto second = take(two, reads);
  REQUIRE(answer(second) == outcome::yes);
  CHECK(second.fence > first.fence);
  CHECK(answer(take(writer, writes)) == outcome::no);
  mode_listener writing(writes), reading(reads), reading_too(reads), after(writes);
  stand_in(writer, writing);
  CHECK(answer(take(third, reads)) == outcome::no);
  CHECK(third.run(in_mode(third, verb::poll, reads)).holder.holder == writer.id);
  CHECK(third.run(in_mode(third, verb::poll, writes)).holder.holder == one.id);
  stand_in(third, reading);
  stand_in(fourth, reading_too);
  stand_in(last, after);

  REQUIRE(answer(leave(two, two.nonce)) == outcome::yes);
  CHECK(answer(leave(two, two.nonce)) == outcome::no);
  CHECK(answer(take(writer, writes)) == outcome::no);
  REQUIRE(answer(leave(one, one.nonce)) == outcome::yes);
  REQUIRE(eventually([&] { return writing.calls == 2; }));
  const auto written = take(writer, writes);
  REQUIRE(answer(written) == outcome::yes);
  CHECK(written.statements == 0);
  CHECK(written.fence > second.fence);
  CHECK(answer(take(third, reads, true)) == outcome::no);
  CHECK(reading.calls == 1);

  REQUIRE(answer(writer.release("k", written.fence)) == outcome::yes);
  REQUIRE(eventually([&] { return reading.calls == 2 && reading_too.calls == 2; }));
  CHECK(third
            .run([&] {
              auto asked = in_mode(third, verb::poll, reads);
              asked.registered = true;
              return asked;
            }())
            .result == outcome::absent);
  const auto read = take(third, reads, true);
  REQUIRE(answer(read) == outcome::yes);
  CHECK(read.statements == 0);
  CHECK(read.fence > written.fence);
  REQUIRE(answer(take(fourth, reads, true)) == outcome::yes);
  CHECK(after.calls == 1);
  // A reader that comes now waits for the writer at the end.
  CHECK(answer(take(one, reads)) == outcome::no);
  third.store->unwatch("k", third.id, reading);
  fourth.store->unwatch("k", fourth.id, reading_too);
  REQUIRE(answer(leave(third, third.nonce)) == outcome::yes);
  REQUIRE(fourth.close() == outcome::yes);
  REQUIRE(eventually([&] { return after.calls == 2; }));
  CHECK(answer(take(last, writes)) == outcome::yes);
  writer.store->unwatch("k", writer.id, writing);
  last.store->unwatch("k", last.id, after);
}

TEST_CASE_METHOD(shared_zookeeper, "zookeeper: a session has several readers of a key, and each is released apart") {
  actor a(fixture), b(fixture);
  REQUIRE(answer(take(a, reads)) == outcome::yes);
  REQUIRE(answer(take(a, reads)) == outcome::yes);
  REQUIRE(answer(take(a, reads)) == outcome::yes);
  REQUIRE(answer(leave(a, 2)) == outcome::yes);
  CHECK(answer(leave(a, 2)) == outcome::no);
  auto undone = in_mode(a, verb::cancel, reads);
  undone.nonce = 3;
  CHECK(answer(a.run(undone)) == outcome::yes);
  CHECK(answer(take(b, writes)) == outcome::no);
  REQUIRE(answer(leave(a, 1)) == outcome::yes);
  CHECK(answer(take(b, writes)) == outcome::yes);
}

TEST_CASE_METHOD(shared_zookeeper,
                 "zookeeper: a caller that does not wait leaves the places of its session in the queue alone") {
  actor holder(fixture), waiting(fixture);
  const auto fence = take(holder, writes).fence;
  const auto mode = GENERATE(writes, reads);
  mode_listener listener(mode);
  stand_in(waiting, listener);
  CHECK(answer(take(waiting, reads)) == outcome::no);
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  REQUIRE(eventually([&] { return listener.calls == 2; }));
  CHECK(answer(take(waiting, reads)) == (mode.units != 0 ? outcome::yes : outcome::no));
  CHECK(answer(take(waiting, mode, true)) == outcome::yes);
  waiting.store->unwatch("k", waiting.id, listener);
}

TEST_CASE_METHOD(shared_zookeeper, "zookeeper: an exclusive lease can't become a shared one, and stays") {
  lock_service locks(url);
  auto held = locks.acquire("k");
  CHECK_THROWS_AS(held.downgrade(), std::invalid_argument);
  REQUIRE(held);
  CHECK_NOTHROW(held.ensure_held());
  CHECK(nodes_of_key(server) == 1);
  held.release();
}

TEST_CASE_METHOD(shared_zookeeper, "zookeeper: a shared lock takes a round trip, as an exclusive one does") {
  lock_service locks(url);
  locks.acquire("k").release();
  const auto before = locks.statements();
  locks.acquire("k").release();
  const auto exclusive_pair = locks.statements() - before;
  locks.acquire("k", {.mode = shared}).release();
  CHECK(locks.statements() == before + 2 * exclusive_pair);
  CHECK(exclusive_pair == 2);
}

TEST_CASE_METHOD(shared_zookeeper, "zookeeper: a reader whose node somebody deletes has lost its lease at once") {
  lock_service locks(url);
  const auto lost = locks.acquire("k", {.mode = shared});
  other_client somebody(server.url());
  const auto node = somebody.below("/dlock/k");
  REQUIRE(node.size() == 1);
  lock_service others(url);
  const auto kept = others.acquire("k", {.mode = shared});
  somebody.remove("/dlock/k/" + node.front());
  REQUIRE(eventually([&] { return lost.remaining() == 0us; }));
  CHECK(lost.loss() == loss_reason::taken_over);
  CHECK(kept.remaining() > 0us);
}

TEST_CASE_METHOD(shared_zookeeper, "zookeeper: operators see readers as holders, and those who wait as waiters") {
  lock_service locks(url), others(url);
  const auto mine = locks.acquire("k", {.mode = shared});
  const auto theirs = others.acquire("k", {.mode = shared});
  actor writer(fixture), reader(fixture);
  mode_listener writing(writes), reading(reads);
  stand_in(writer, writing);
  stand_in(reader, reading);
  const auto found = locks.holders("k");
  REQUIRE(found.size() == 2);
  CHECK(found[0].fence == mine.fencing_token());
  CHECK(found[1].fence == theirs.fencing_token());
  CHECK(found[0].waiters == 2);
  const auto waiting = locks.waiters("k");
  CHECK(waiting.count == 2);
  CHECK(waiting.first.size() == 2);
  writer.store->unwatch("k", writer.id, writing);
  reader.store->unwatch("k", reader.id, reading);
}

TEST_CASE("zookeeper: permits are nodes beside a lock, in which those who wait stand") {
  const zookeeper_server server;
  const auto url = server.url("names=curator-semaphore");
  zookeeper_fixture fixture(url);
  constexpr key_mode two{.units = 1, .permits = 2}, three{.units = 1, .permits = 3};
  actor one(fixture), first(fixture), second(fixture);
  REQUIRE(answer(take(one, two)) == outcome::yes);
  const auto fence = take(one, two).fence;
  REQUIRE(fence != 0);
  CHECK(answer(take(first, two)) == outcome::no);
  CHECK(first.run(in_mode(first, verb::poll, two)).holder.holder == one.id);
  CHECK(first.run(in_mode(first, verb::poll, three)).result == outcome::absent);
  CHECK(nodes_below(server, "leases/") == 2);
  CHECK(nodes_below(server, "locks/") == 0);

  mode_listener waits(two), waits_too(two);
  first.store->watch("k", first.id, waits);
  REQUIRE(eventually([&] { return waits.calls == 1; }));
  CHECK(nodes_below(server, "leases/") == 3);  // as Curator's
  CHECK(nodes_below(server, "locks/") == 1);
  second.store->watch("k", second.id, waits_too);
  REQUIRE(eventually([&] { return waits_too.calls == 1; }));
  CHECK(nodes_below(server, "leases/") == 3);
  CHECK(nodes_below(server, "locks/") == 2);
  CHECK(one.inspected("k").front().waiters == 2);
  waiter_overview all;
  REQUIRE(answer(one.store->admin()->waiters(*one.connection, "k", 10, all)) == outcome::yes);
  CHECK(all.count == 2);

  const auto release = [&](actor& by, std::uint64_t nonce) {
    auto asked = in_mode(by, verb::release, two);
    asked.nonce = nonce;
    return by.run(asked);
  };
  REQUIRE(answer(release(one, 1)) == outcome::yes);
  REQUIRE(eventually([&] { return waits.calls == 2; }));
  CHECK(answer(take(second, two, true)) == outcome::no);
  const auto got = take(first, two, true);
  REQUIRE(answer(got) == outcome::yes);
  CHECK(got.statements == 0);
  CHECK(got.fence > fence);
  // The next one has the lock now.
  CHECK(eventually([&] { return nodes_below(server, "locks/") == 1 && nodes_below(server, "leases/") == 3; }));
  SECTION("the next one gets the other") {
    REQUIRE(one.close() == outcome::yes);
    REQUIRE(eventually([&] { return waits_too.calls == 2; }));
    CHECK(answer(take(second, two, true)) == outcome::yes);
  }
  SECTION("the next one leaves") {
    second.store->unwatch("k", second.id, waits_too);
    CHECK(eventually([&] { return nodes_below(server, "locks/") == 0 && nodes_below(server, "leases/") == 2; }));
  }
  SECTION("the next one's session ends") {
    REQUIRE(second.close() == outcome::yes);
    CHECK(waits_too.calls == 2);
    CHECK(nodes_below(server, "leases/") == 2);
  }
  first.store->unwatch("k", first.id, waits);
  second.store->unwatch("k", second.id, waits_too);
}

TEST_CASE("zookeeper: of two that ask for the last permit at the same time one gets it") {
  const zookeeper_server server;
  zookeeper_fixture fixture(server.url("names=curator-semaphore"));
  auto all = crowd(fixture, 6);
  constexpr key_mode two{.units = 1, .permits = 2};
  REQUIRE(answer(take(*all.front(), two)) == outcome::yes);
  for (int i = 0; i != 20; ++i) {
    const auto got = all_at_once(all, [&](actor& each) { return take(each, two); });
    REQUIRE(count_yes(got) == 1);
    for (auto& each : all) {
      auto undo = in_mode(*each, verb::cancel, two);
      undo.nonce = each->nonce;
      each->run(undo);
    }
  }
}

TEST_CASE("zookeeper: a permit takes a round trip") {
  const zookeeper_server server;
  lock_service locks(server.url("names=curator-semaphore"));
  locks.acquire("k", {.mode = one_of(2)}).release();
  const auto before = locks.statements();
  locks.acquire("k", {.mode = one_of(2)}).release();
  CHECK(locks.statements() == before + 2);
}

TEST_CASE("zookeeper: a mode that the names do not have is refused with those that have it") {
  const zookeeper_server server;
  lock_service locks(server.url()), readwrite(server.url("names=curator-readwrite"));
  lock_service permits(server.url("names=curator-semaphore"));
  CHECK_THAT(refusal([&] { return locks.acquire("k", {.mode = shared}); }),
             ContainsSubstring("names=curator-readwrite and names=kazoo"));
  CHECK_THAT(refusal([&] { return readwrite.acquire("k", {.mode = one_of(2)}); }),
             ContainsSubstring("names=curator-semaphore"));
  CHECK_THAT(refusal([&] { return permits.acquire("k"); }), ContainsSubstring("only permits"));
  CHECK_THAT(refusal([&] { return permits.acquire("k", {.mode = shared}); }), ContainsSubstring("only permits"));
  CHECK_THAT(refusal([&] { return permits.acquire("k", {.mode = one_of(3, 2)}); }), ContainsSubstring("one by one"));
  // A mutex of Curator excludes no readers, so they must not be in one folder.
  const auto held = locks.acquire("k");
  CHECK_THROWS_MATCHES(readwrite.acquire("k", {.mode = shared}), store_error,
                       MessageMatches(ContainsSubstring("-lock-") && ContainsSubstring("InterProcessReadWriteLock")));
}

}  // namespace dlock::test
