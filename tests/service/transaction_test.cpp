// SPDX-License-Identifier: BSL-1.0
// Leases that end inside a transaction of the application's, under a watch that knows of fake ones.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dlock/with_lock.hpp"
#include "service/transaction_fixture.hpp"

namespace {

using namespace dlock;
using namespace dlock::test;

/// Somebody else's, after the first.
struct waiting_rival {
  waiting_rival(engine_fixture& in, const lock_key& key)
      : rival(in.foreign()), thread([this, key] {
          const auto theirs = rival->acquire(key, {.ttl = 30s, .wait = 1h});
          saw = committed.load();
          has = true;
        }) {}
  ~waiting_rival() { thread.join(); }

  std::unique_ptr<lock_service> rival;
  std::atomic<bool> committed{false};
  std::atomic<bool> saw{false};
  std::atomic<bool> has{false};
  std::thread thread;
};

}  // namespace

TEST_CASE_METHOD(transaction_fixture, "transaction: a lease that ends inside one frees the key after its outcome, once",
                 "[transaction][T70]") {
  fake_transaction open(*store);
  hold_in(open, "k");
  CHECK_FALSE(is_free("k"));
  CHECK(store->count(verb::release) == 0);
  CHECK(seen->count(event::kind::released) == 0);
  open.end();
  CHECK(freed("k"));
  CHECK(seen->wait_for(event::kind::released));
  static_cast<void>(locks->acquire("k"));
  CHECK(store->count(verb::release) == 2);
  CHECK(seen->count(event::kind::released) == 2);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: the next owner comes after the outcome", "[transaction][T70]") {
  fake_transaction open(*store);
  auto held = locks->acquire("k");
  waiting_rival next(*this, "k");
  held.release();
  CHECK_FALSE(held);
  const auto polls = locks->count(event::kind::granted);
  for (int i = 0; i < 20; ++i) {
    CHECK(clock.at_rest({.callers = 1}));  // it has looked again, in vain
    clock.advance(250ms);
  }
  CHECK(clock.at_rest({.callers = 1}));
  CHECK_FALSE(next.has);
  CHECK(locks->count(event::kind::granted) == polls);
  next.committed = true;
  open.end();
  CHECK(clock.at_rest({.callers = 1}));
  clock.advance(250ms);
  CHECK(eventually([&] { return next.has.load(); }));
  CHECK(next.saw);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a key whose release waits is renewed and can be entered again",
                 "[transaction]") {
  fake_transaction open(*store);
  const auto fence = hold_in(open, "k");
  for (int i = 0; i < 12; ++i) {
    const auto renewed = store->count(session_verb::renew);
    clock.advance(11s);
    REQUIRE(eventually([&] { return store->count(session_verb::renew) > renewed; }));
  }
  CHECK_FALSE(is_free("k"));
  const auto sent = locks->statements();
  {
    const auto again = locks->acquire("k");
    CHECK(again.reentered());
    CHECK(again.fencing_token() == fence);
    CHECK(again.remaining() > 0us);
  }
  CHECK(locks->statements() == sent);
  CHECK_FALSE(is_free("k"));
  CHECK(open.waited_for() == 1);
  open.end();
  CHECK(freed("k"));
  CHECK(seen->count(event::kind::lost) == 0);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: what was entered again outlives it, and is then released at once",
                 "[transaction]") {
  fake_transaction open(*store);
  hold_in(open, "k");
  auto again = locks->acquire("k");
  REQUIRE(again.reentered());
  open.end();
  // Whatever was queued by the end is done before this.
  hold_in(open, "l");
  CHECK(store->count(verb::release) == 1);
  CHECK_FALSE(is_free("k"));
  CHECK_NOTHROW(again.ensure_held());
  again.release();
  CHECK(store->count(verb::release) == 2);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: acquired again and left in the next one, it waits for that one",
                 "[transaction][T70]") {
  const auto busy = keep_background_busy();
  fake_transaction first(*store);
  const auto fence = hold_in(first, "k");
  first.end();
  auto again = locks->acquire("k");
  CHECK(again.fencing_token() == fence + 1);
  fake_transaction second(*store);
  again.release();
  CHECK(second.waited_for() == 1);
  busy->open();
  CHECK(clock.at_rest());
  CHECK_FALSE(is_free("k"));
  second.end();
  CHECK(clock.at_rest());
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a release that was queued frees no lease that came after it",
                 "[transaction][T70]") {
  const auto busy = keep_background_busy();
  {
    fake_transaction open(*store);
    hold_in(open, "k");
    open.end();  // queues it; it is not begun
    const auto again = locks->acquire("k");
    busy->open();
    CHECK(clock.at_rest());
    CHECK_NOTHROW(again.ensure_held());
    CHECK_FALSE(is_free("k"));
  }
  CHECK(freed("k"));
  CHECK(seen->count(event::kind::split_brain) == 0);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a lease that ends after it is released at once", "[transaction]") {
  std::optional<fake_transaction> open(std::in_place, *store);
  auto held = locks->acquire("k");
  open->end();
  held.release();
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::released) == 1);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: an inner lease that ends inside one changes nothing",
                 "[transaction]") {
  auto outer = locks->acquire("k");
  {
    fake_transaction open(*store);
    { const auto inner = locks->acquire("k"); }
    CHECK(open.waited_for() == 0);
    open.end();
  }
  CHECK_NOTHROW(outer.ensure_held());
  outer.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: a lease from before it that ends inside is held back as well",
                 "[transaction][T70]") {
  auto outer = locks->acquire("k");
  fake_transaction open(*store);
  outer = lease{};
  CHECK_FALSE(is_free("k"));
  open.end();
  CHECK(freed("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: it is that of the thread on which the lease ends",
                 "[transaction]") {
  SECTION("not of the one that acquired") {
    fake_transaction open(*store);
    auto held = locks->acquire("k");
    elsewhere([&] { held.release(); });
    CHECK(is_free("k"));
    CHECK(open.waited_for() == 0);
  }
  SECTION("which may end on yet another") {
    auto held = locks->acquire("k");
    fake_transaction open(*store);
    held.release();
    CHECK_FALSE(is_free("k"));
    elsewhere([&] { open.end(); });
    CHECK(freed("k"));
  }
}

TEST_CASE_METHOD(transaction_fixture, "transaction: one of another database holds nothing back and is not told",
                 "[transaction]") {
  const faulty_store other(rows);
  const fake_transaction open(other);
  { const auto held = locks->acquire("k"); }
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::in_transaction) == 0);
  const fake_transaction mine(*store);
  { const auto held = locks->acquire("k"); }
  CHECK_FALSE(is_free("k"));
  CHECK(seen->count(event::kind::in_transaction) == 1);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: an acquire inside one is told, with the reason; re-entry is not",
                 "[transaction][T75]") {
  const auto before = locks->acquire("before");
  CHECK(seen->count(event::kind::in_transaction) == 0);
  const fake_transaction open(*store);
  const auto inside = locks->acquire("inside");
  REQUIRE(seen->count(event::kind::in_transaction) == 1);
  const auto again = locks->acquire("before");
  const auto twice = locks->acquire("inside");
  CHECK(seen->count(event::kind::in_transaction) == 1);
  for (const auto& each : seen->records()) {
    if (each.what != event::kind::in_transaction) continue;
    CHECK(each.key == "inside");
    CHECK(each.text.find("take the lock first") != std::string::npos);
  }
}

TEST_CASE_METHOD(transaction_fixture, "transaction: where nobody can be told of its end, the key is freed at once",
                 "[transaction]") {
  fake_transaction open(*store);
  open.tell_nobody();
  auto held = locks->acquire("k");
  held.release();
  CHECK(is_free("k"));
  CHECK(seen->count(event::kind::released) == 1);
}

TEST_CASE_METHOD(transaction_fixture, "transaction: with_lock inside one succeeds and frees the key after it",
                 "[transaction][T70]") {
  fake_transaction open(*store);
  CHECK(locks->with_lock("k", [] { return 42; }) == 42);
  CHECK_FALSE(is_free("k"));
  open.end();
  CHECK(freed("k"));
}

TEST_CASE_METHOD(transaction_fixture, "transaction: several keys in one are each freed after it, once",
                 "[transaction][T70]") {
  fake_transaction open(*store);
  const std::vector<std::string> keys{"a", "b", "c", "d"};
  for (const auto& each : keys) hold_in(open, each);
  CHECK(open.waited_for() == keys.size());
  open.end();
  for (const auto& each : keys) CHECK(freed(each));
  CHECK(seen->wait_for(event::kind::released, keys.size()));
  CHECK(store->count(verb::release) == keys.size());
}

TEST_CASE_METHOD(transaction_fixture, "transaction: an observer that blocks does not stop the releases",
                 "[transaction]") {
  struct blocking final : observer {
    void on(const event& event) override {
      if (event.what == event::kind::released) entered->pass();
    }
    std::shared_ptr<gate> entered = std::make_shared<gate>();
  };
  const auto slow = std::make_shared<blocking>();
  locks = service([&](auto& settings) { settings.observer = slow; });
  fake_transaction open(*store);
  hold_in(open, "a");
  hold_in(open, "b");
  open.end();
  CHECK(slow->entered->reached());
  CHECK(freed("a"));
  CHECK(freed("b"));
  slow->entered->open();
}
