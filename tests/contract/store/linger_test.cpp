// SPDX-License-Identifier: BSL-1.0

/// What a key needs that stays with a process between two leases. Of stores with capabilities::lingers.

#include "contract/store/waiting_store.hpp"
#include "dlock/store_interface/linger_bell.hpp"

namespace dlock::test {

namespace {

struct lingering_store {
  std::unique_ptr<store_fixture> fixture = make_store_fixture();
  actor one{*fixture}, other{*fixture};

  reply reserve(actor& by, std::uint64_t fence, std::uint64_t count) {
    return by.run({.action = verb::reserve,
                   .resource = "k",
                   .session = by.id,
                   .nonce = by.nonce,
                   .fence = fence,
                   .count = count});
  }
  /// How many of these keys another process waits for, as that one sees it.
  unsigned waited_for(const std::vector<std::string>& keys) {
    fault why;
    const auto on = one.store->connect(10s, why);
    REQUIRE(on != nullptr);
    std::vector<request> asked;
    for (const auto& key : keys) asked.push_back({.action = verb::poll, .resource = key});
    std::vector<reply> found(keys.size());
    REQUIRE(answer(one.store->waited_for(*on, asked, found)) == outcome::yes);
    unsigned all = 0;
    for (const auto& each : found) all += each.waiters;
    return all;
  }
  service_options options() const {
    return {.defaults = {.ttl = 30s, .wait = 60s}, .close_limit = 0ms, .cleanup_interval = 0ms};
  }
};

struct bell_listener final : key_listener {
  void may_be_free(bool /*works*/) noexcept override { ++informed; }
  void was_rung() noexcept override { ++rung; }

  std::atomic<int> informed{0}, rung{0};
};

}  // namespace

TEST_CASE_METHOD(lingering_store, "linger: the holder reserves tokens, and the next grant is above them") {
  REQUIRE(one.store->caps().lingers);
  const auto fence = one.acquire("k");
  const auto more = reserve(one, fence, 16);
  REQUIRE(answer(more) == outcome::yes);
  CHECK(more.fence == fence + 16);
  CHECK(one.at("k").fence == fence + 16);
  CHECK(answer(reserve(one, fence, 16)) == outcome::no);  // it names the row's fence
  CHECK(answer(reserve(other, fence + 16, 16)) == outcome::no);
  CHECK(answer(one.release("k", fence)) == outcome::no);
  CHECK(answer(one.release("k", fence + 16)) == outcome::yes);
  CHECK(answer(reserve(one, fence + 16, 16)) == outcome::no);
  CHECK(other.acquire("k") == fence + 17);
}

TEST_CASE_METHOD(lingering_store, "linger: a reservation without an answer is undone by the grant's nonce") {
  const auto fence = one.acquire("k");
  REQUIRE(answer(reserve(one, fence, 256)) == outcome::yes);
  CHECK(answer(one.cancel("k", one.nonce)) == outcome::yes);
  CHECK(other.acquire("k") == fence + 257);
}

TEST_CASE_METHOD(lingering_store, "linger: a process finds which of its keys others wait for") {
  CHECK(waited_for({"a", "k", "z"}) == 0);
  {
    waiting_store waiter(*fixture);
    REQUIRE(waiter.works());
    CHECK(eventually([&] { return waited_for({"a", "k", "z"}) == 1; }));
    CHECK(waited_for({"a", "z"}) == 0);
  }
  CHECK(eventually([&] { return waited_for({"k"}) == 0; }));
}

TEST_CASE_METHOD(lingering_store, "linger: a poll of a waiter notifies a process that may keep the key, and no other") {
  REQUIRE(answer(one.run({.action = verb::insert, .resource = "kept", .session = one.id, .nonce = lingering_nonce})) ==
          outcome::yes);
  REQUIRE(answer(one.run({.action = verb::insert, .resource = "plain", .session = one.id, .nonce = 2})) ==
          outcome::yes);
  bell_listener listener;
  const linger_bell bell(one.id);
  one.store->watch(bell.view(), one.id, listener);
  CHECK(eventually([&] { return listener.informed > 0; }));
  const auto poll = [&](const char* key, bool waits) {
    return answer(other.run({.action = verb::poll, .resource = key, .wake = waits}));
  };
  for (int i = 0; i != 10; ++i) {
    CHECK(poll("plain", true) == outcome::yes);
    CHECK(poll("kept", false) == outcome::yes);
  }
  CHECK(listener.rung == 0);
  // A ring between two sleeps is lost.
  CHECK(eventually([&] { return poll("kept", true) == outcome::yes && listener.rung > 0; }));
  one.store->unwatch(bell.view(), one.id, listener);
}

TEST_CASE_METHOD(lingering_store, "linger: a service that shares the store object counts while it waits") {
  {
    waiting_store mine(one.store);
    REQUIRE(mine.works());
    CHECK(waited_for({"a", "k"}) == 1);
  }
  CHECK(waited_for({"k"}) == 0);
}

TEST_CASE_METHOD(lingering_store, "linger: a process that waits gets the key, with a greater token than all before") {
  lock_service keeps(fixture->url(), options()), waits(fixture->url(), options());
  const lock_options lingers{.linger = 20s};
  std::uint64_t last = 0;
  for (int i = 0; i != 100; ++i) {
    auto held = keeps.acquire("k", lingers);
    CHECK(held.fencing_token() > last);
    last = held.fencing_token();
    held.release();
  }
  CHECK(keeps.statements() < 20);
  CHECK(waits.holder("k").value_or(holder_info{}).lingers);
  const auto begun = std::chrono::steady_clock::now();
  auto held = waits.acquire("k");
  CHECK(std::chrono::steady_clock::now() - begun < 5s);
  CHECK_FALSE(keeps.holder("k").value_or(holder_info{.lingers = true}).lingers);
  CHECK(held.fencing_token() > last);
  held.release();
  auto again = keeps.acquire("k", lingers);
  CHECK(again.fencing_token() > last);
}

TEST_CASE_METHOD(lingering_store, "linger: of many keys the process frees the one that another process waits for") {
  lock_service keeps(fixture->url(), options()), waits(fixture->url(), options());
  const lock_options lingers{.linger = 20s};
  for (const auto* const each : {"a", "b", "c", "d", "e", "f", "g", "k"})
    static_cast<void>(keeps.acquire(each, lingers));
  CHECK(keeps.lingering() == 8);
  CHECK(granted(waits.try_acquire("k", {.wait = 10s})));
  CHECK(keeps.lingering() == 7);
  CHECK_FALSE(granted(waits.try_acquire("a")));
}

TEST_CASE_METHOD(lingering_store, "linger: services that share the store object ask each other for a key") {
  lock_service keeps(one.store, options()), waits(one.store, options());
  static_cast<void>(keeps.acquire("k", {.linger = 20s}));
  CHECK(granted(waits.try_acquire("k", {.wait = 10s})));
}

TEST_CASE_METHOD(lingering_store, "linger: a loop over one key") {
  lock_service locks(fixture->url(), options());
  std::uint64_t last = 0;
  // [linger]
  for (int i = 0; i != 100; ++i) {
    const auto held = locks.acquire("shard:7", {.linger = 5s});  // only the first few cost statements
    last = held.fencing_token();                                 // greater each time
  }
  // [/linger]
  CHECK(last >= 100);
  CHECK(locks.lingering() == 1);
  CHECK(locks.held() == 0);
}

TEST_CASE_METHOD(lingering_store, "linger: a process that waits gets a key that is in use all the time") {
  lock_service keeps(fixture->url(), options()), waits(fixture->url(), options());
  std::atomic<bool> over{false};
  std::thread user([&] {
    while (!over) static_cast<void>(keeps.acquire("k", {.linger = 20s}));
  });
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i != 3; ++i) CHECK(granted(waits.try_acquire("k", {.wait = 30s})));
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
  over = true;
  user.join();
}

TEST_CASE_METHOD(lingering_store, "linger: close() and force_release() free what lingers") {
  lock_service keeps(fixture->url(), options()), waits(fixture->url(), options());
  static_cast<void>(keeps.acquire("k", {.linger = 20s}));
  static_cast<void>(keeps.acquire("forced", {.ttl = 1s, .linger = 1s}));
  CHECK_FALSE(granted(waits.try_acquire("k")));
  CHECK(waits.force_release("forced"));
  CHECK(granted(waits.try_acquire("forced", {.wait = 10s})));
  keeps.close(5s);
  CHECK(granted(waits.try_acquire("k")));
}

}  // namespace dlock::test
