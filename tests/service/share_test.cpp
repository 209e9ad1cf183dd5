// SPDX-License-Identifier: BSL-1.0

// Shared locks and permits: lock_options::mode.

#include <shared_mutex>

#include "dlock/async.hpp"
#include "dlock/distributed_semaphore.hpp"
#include "dlock/distributed_shared_mutex.hpp"
#include "dlock/leader.hpp"
#include "dlock/locked.hpp"
#include "dlock/macros.hpp"
#include "dlock/once.hpp"
#include "dlock/with_lock.hpp"
#include "engine/registry/local_readers.hpp"
#include "service/engine_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

struct two_services : one_service {
  std::unique_ptr<lock_service> others = this->foreign();

  bool reads(const lock_key& key) {
    return elsewhere([&] { return granted(others->try_acquire(key, {.mode = shared})); });
  }
};

}  // namespace

TEST_CASE_METHOD(two_services, "mode: many read, in one process and in others, and nobody writes meanwhile") {
  auto mine = locks->acquire("k", {.mode = shared});
  auto theirs = others->acquire("k", {.mode = shared});
  auto second = elsewhere([&] { return locks->acquire("k", {.mode = shared}); });
  CHECK(mine.fencing_token() == theirs.fencing_token());
  CHECK_FALSE(is_free("k"));
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire("k")); }));
  CHECK(reads("k"));
  mine.release();
  theirs.release();
  CHECK_FALSE(is_free("k"));
  second.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(two_services,
                 "mode: readers of one process share what the first one has, and the last one releases it") {
  auto first = locks->acquire("k", {.mode = shared});
  const auto before = locks->statements();
  std::vector<lease> more;
  elsewhere([&] {
    for (int i = 0; i < 100; ++i) more.push_back(locks->acquire("k", {.reentry = reentry::busy, .mode = shared}));
  });
  CHECK(more.back().fencing_token() == first.fencing_token());
  first.release();
  for (auto& each : more) each.ensure_held();
  while (more.size() > 1) more.pop_back();
  CHECK(locks->statements() == before);
  CHECK_FALSE(is_free("k"));
  more.back().ensure_held();
  more.pop_back();
  CHECK(locks->statements() == before + 1);
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(two_services, "mode: what a reader shares with others is young, so the store can stop further ones") {
  const auto first = locks->acquire("k", {.mode = shared});
  const auto before = locks->statements();
  const auto again = [&] { return elsewhere([&] { return locks->acquire("k", {.mode = shared}); }); };
  clock.advance(engine::local_readers::tenure - 1us);
  const auto second = again();
  CHECK(locks->statements() == before);
  clock.advance(1us);
  const auto third = again();
  CHECK(locks->statements() == before + 1);
  const auto fourth = again();
  CHECK(locks->statements() == before + 1);
  CHECK_FALSE(elsewhere([&] { return granted(others->try_acquire("k")); }));
}

TEST_CASE_METHOD(two_services, "mode: readers with another ttl share nothing") {
  const auto first = locks->acquire("k", {.ttl = 30s, .mode = shared});
  const auto before = locks->statements();
  const auto second = elsewhere([&] { return locks->acquire("k", {.ttl = 60s, .mode = shared}); });
  CHECK(locks->statements() > before);
}

TEST_CASE_METHOD(two_services,
                 "mode: readers that share are all lost with their session, and one that is over ends no other") {
  const auto first = locks->acquire("k", {.mode = shared});
  auto second = elsewhere([&] { return locks->acquire("k", {.max_hold = 1s, .mode = shared}); });
  const auto third = elsewhere([&] { return locks->acquire("k", {.mode = shared}); });
  clock.advance(2s);
  REQUIRE(eventually([&] { return second.loss() == loss_reason::max_hold; }));
  CHECK(first.remaining() > 0us);
  CHECK_FALSE(is_free("k"));
  store->cut();
  for (int i = 0; i < 40; ++i) clock.advance(1s);
  CHECK(first.remaining() == 0us);
  CHECK(third.remaining() == 0us);
  store->cut(false);
  CHECK(eventually([&] {
    clock.advance(1s);
    return is_free("k");
  }));
}

TEST_CASE_METHOD(two_services, "mode: a reader that is lost keeps what it shares for the margin") {
  auto first = locks->acquire("k", {.mode = shared});
  const auto lost = elsewhere([&] { return locks->acquire("k", {.max_hold = 1s, .mode = shared}); });
  clock.advance(1s);
  REQUIRE(eventually([&] { return lost.loss() == loss_reason::max_hold; }));
  const auto before = locks->statements();
  first.release();
  CHECK(locks->statements() == before);
  CHECK_FALSE(is_free("k"));  // the holder of the lost lease has time to stop
  clock.advance(1500ms);      // 30 s / 20
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(two_services, "mode: a shared pair is two statements, on a key that was shared before") {
  locks->acquire("k", {.mode = shared}).release();
  const auto before = locks->statements();
  locks->acquire("k", {.mode = shared}).release();
  CHECK(locks->statements() == before + 2);
}

TEST_CASE_METHOD(two_services,
                 "mode: an exclusive lock comes after the readers, and its token is greater than theirs") {
  const auto first = locks->acquire("k").fencing_token();
  auto reading = locks->acquire("k", {.mode = shared});
  CHECK(reading.fencing_token() == first);
  reading.release();
  auto writing = locks->acquire("k");
  CHECK(writing.fencing_token() == first + 1);
  CHECK_FALSE(reads("k"));
  writing.release();
  CHECK(reads("k"));
  CHECK(locks->acquire("k", {.mode = shared}).fencing_token() == first + 1);
}

TEST_CASE_METHOD(two_services, "mode: a caller that waits for the exclusive lock stops new readers, and gets it") {
  auto reading = others->acquire("k", {.mode = shared});
  std::uint64_t token = 0;
  concurrent_call writer([&] { token = locks->acquire("k", {.wait = 1h}).fencing_token(); });
  REQUIRE(eventually([&] { return store->count(verb::close) == 1; }));
  clock.advance(engine::local_readers::tenure);
  CHECK_FALSE(reads("k"));
  CHECK_FALSE(elsewhere([&] { return granted(others->try_acquire("k", {.mode = one_of(5)})); }));
  // It goes on to say so, however long it waits.
  for (int i = 0; i < 60; ++i) {
    clock.advance(250ms);
    REQUIRE(clock.at_rest({.callers = 1}));
    REQUIRE_FALSE(reads("k"));
  }
  CHECK_FALSE(writer.over());
  const auto before = reading.fencing_token();
  reading.release();
  thrown_as_time_passes([&] { REQUIRE(writer.end() == std::error_code()); });
  CHECK(token == before + 1);
  CHECK(reads("k"));
}

TEST_CASE_METHOD(two_services,
                 "mode: a caller that stops waiting for the exclusive lock lets readers in again at once") {
  const auto reading = others->acquire("k", {.mode = shared});
  CHECK(thrown_as_time_passes([&] { static_cast<void>(locks->acquire("k", {.wait = 1s})); }) == errc::timed_out);
  CHECK(store->count(verb::open) == 1);
  CHECK(reads("k"));
  std::stop_source stop;
  concurrent_call writer([&] { static_cast<void>(locks->acquire("k", {.wait = 1h, .cancel = stop.get_token()})); });
  REQUIRE(eventually([&] { return store->count(verb::close) == 2; }));
  stop.request_stop();
  CHECK(writer.end() == errc::cancelled);
  CHECK(store->count(verb::open) == 2);
  CHECK(reads("k"));
}

TEST_CASE_METHOD(two_services, "mode: a single attempt at a key with readers does not stop further ones") {
  const auto reading = others->acquire("k", {.mode = shared});
  CHECK_FALSE(granted(locks->try_acquire("k")));
  CHECK(store->count(verb::close) == 0);
  CHECK(reads("k"));
}

TEST_CASE_METHOD(two_services, "mode: a caller that has died while it waited keeps readers out for some seconds only") {
  const auto reading = others->acquire("k", {.mode = shared});
  clock.advance(engine::local_readers::tenure);
  concurrent_call writer([&] { static_cast<void>(locks->acquire("k", {.wait = 10s})); });
  REQUIRE(eventually([&] { return store->count(verb::close) == 1; }));
  store->cut();
  CHECK_FALSE(reads("k"));
  clock.advance(closed_for - 1us);
  CHECK_FALSE(reads("k"));
  clock.advance(1us);
  CHECK(reads("k"));
  static_cast<void>(thrown_as_time_passes([&] { static_cast<void>(writer.end()); }));
  store->cut(false);
}

TEST_CASE_METHOD(two_services, "mode: no more permits than there are, and each comes back") {
  auto one = locks->acquire("k", {.mode = one_of(2)});
  auto two = others->acquire("k", {.mode = one_of(2)});
  const auto third = [&] { return elsewhere([&] { return granted(locks->try_acquire("k", {.mode = one_of(2)})); }); };
  CHECK_FALSE(third());
  CHECK(elsewhere([&] { return granted(locks->try_acquire("k", {.mode = one_of(3)})); }));
  two.release();
  CHECK(third());
  CHECK_FALSE(elsewhere([&] { return granted(locks->try_acquire("k", {.mode = one_of(2, 2)})); }));
  one.release();
  CHECK(elsewhere([&] { return granted(locks->try_acquire("k", {.mode = one_of(2, 2)})); }));
}

TEST_CASE_METHOD(two_services,
                 "mode: a thread that waits for a permit gets it when another thread of its process releases one") {
  auto held = locks->acquire("k", {.mode = one_of(1)});
  concurrent_call waiter([&] { locks->acquire("k", {.wait = 1h, .mode = one_of(1)}).release(); });
  REQUIRE(eventually([&] { return store->count(verb::poll) >= 2; }));
  REQUIRE(clock.at_rest({.callers = 1}));
  held.release();  // no time passes
  CHECK(waiter.over(20s));
  CHECK(waiter.end() == std::error_code());
}

TEST_CASE_METHOD(two_services, "mode: permits of a process that has died come back within the ttl") {
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto held = dying.acquire("k", {.ttl = 10s, .mode = one_of(1)});
  crashed->cut();
  const auto free = [&] { return elsewhere([&] { return granted(locks->try_acquire("k", {.mode = one_of(1)})); }); };
  CHECK_FALSE(free());
  clock.advance(10s);
  CHECK(free());
  crashed->cut(false);
}

TEST_CASE_METHOD(two_services, "mode: an exclusive caller takes over from dead readers") {
  auto crashed = std::make_shared<faulty_store>(rows);
  lock_service dying(crashed, {.close_limit = 0ms, .cleanup_interval = 0ms, .time = &clock});
  const auto held = dying.acquire("k", {.ttl = 10s, .mode = shared});
  crashed->cut();
  CHECK_FALSE(is_free("k"));
  clock.advance(10s);
  CHECK(is_free("k"));
  crashed->cut(false);
}

TEST_CASE_METHOD(one_service, "mode: a member whose session was lost is told, and holds nothing") {
  const auto reading = locks->acquire("k", {.ttl = 10s, .mode = shared});
  store->cut();
  clock.advance(9500ms);
  CHECK(is_lost(reading));
  store->cut(false);
  clock.advance(500ms);
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(one_service, "mode: max_hold ends a member as any lease") {
  const auto reading = locks->acquire("k", {.ttl = 10s, .max_hold = 2s, .mode = shared});
  clock.advance(2s);
  CHECK(is_lost(reading));
  CHECK(reading.loss() == loss_reason::max_hold);
  clock.advance(1s);
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(one_service, "mode: an owner enters again in the same mode, and what it holds exclusively in any") {
  const auto reading = locks->acquire("k", {.mode = shared});
  CHECK(locks->acquire("k", {.mode = shared}).reentered());
  CHECK_FALSE(locks->acquire("k", {.mode = one_of(3)}).reentered());
  const auto writing = locks->acquire("own");
  CHECK(locks->acquire("own", {.mode = shared}).reentered());
  CHECK(locks->acquire("own", {.mode = one_of(3)}).reentered());
  const auto permit = locks->acquire("p", {.mode = one_of(3)});
  CHECK(locks->acquire("p", {.mode = one_of(3)}).reentered());
  CHECK_FALSE(locks->acquire("p", {.mode = one_of(4)}).reentered());
  CHECK_FALSE(locks->acquire("p", {.reentry = reentry::busy, .mode = one_of(3)}).reentered());
  CHECK(thrown([&] { static_cast<void>(locks->acquire("k", {.reentry = reentry::refuse, .mode = shared})); }) ==
        errc::already_held);
}

TEST_CASE_METHOD(
    one_service,
    "mode: an owner that reads and asks for the exclusive lock is told at once that it would wait for itself") {
  const auto before = store->count(verb::take);
  {
    const auto reading = locks->acquire("k", {.mode = shared});
    const auto sent = store->count(verb::take);
    CHECK_THROWS_AS(locks->acquire("k"), lock_deadlock);
    CHECK_THROWS_AS(locks->try_acquire("k"), lock_deadlock);
    CHECK(store->count(verb::take) == sent);
  }
  {
    const auto permit = locks->acquire("k", {.mode = one_of(2)});
    CHECK_THROWS_AS(locks->acquire("k"), lock_deadlock);
  }
  CHECK(store->count(verb::take) > before);
  CHECK(granted(locks->try_acquire("k")));
}

TEST_CASE_METHOD(one_service, "mode: an owner that reads is refused the exclusive lock by every way to take one") {
  const auto mode = GENERATE(shared, one_of(2));
  set_default_service(*locks);
  const auto held = locks->acquire("k", {.mode = mode});
  const auto refused = [](const auto& call) { CHECK_THROWS_AS(call(), lock_deadlock); };
  const auto nothing = [] {};
  refused([&] { locks->with_lock("k", nothing); });
  refused([&] { static_cast<void>(locks->try_with_lock("k", nothing)); });
  refused([&] { static_cast<void>(locks->acquire_all({"j", "k"})); });
  refused([&] { static_cast<void>(locks->try_acquire_all({"j", "k"})); });
  refused([&] { locks->locked("k", nothing)(); });
  refused([&] { static_cast<void>(locks->locked_or_skip("k", nothing)()); });
  refused([&] {
    DISTRIBUTED_LOCKED("k") { nothing(); }
  });
  refused([&] {
    DISTRIBUTED_TRY_LOCKED("k") { nothing(); }
  });
  CHECK(is_free("j"));
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(one_service, "mode: an asynchronous call of an owner that reads is refused the exclusive lock") {
  const owner_scope mine;
  const auto held = locks->acquire("k", {.mode = shared});
  std::promise<std::exception_ptr> failed;
  locks->async_acquire("k", {}, [&](std::exception_ptr why, lease) { failed.set_value(why); });
  const auto why = failed.get_future().get();
  REQUIRE(why != nullptr);
  CHECK_THROWS_AS(std::rethrow_exception(why), lock_deadlock);
}

TEST_CASE_METHOD(two_services, "mode: several keys by permits, all or none") {
  auto mine = locks->acquire_all({"a", "b"}, {.mode = one_of(2)});
  auto theirs = others->acquire_all({"a", "b"}, {.mode = one_of(2)});
  const auto more = [&] {
    return elsewhere([&] { return granted(locks->try_acquire_all({"b", "c"}, {.mode = one_of(2)})); });
  };
  CHECK_FALSE(more());
  CHECK(is_free("c"));
  theirs.release();
  CHECK(more());
  CHECK(is_free("c"));
}

TEST_CASE_METHOD(two_services,
                 "mode: several keys, of which the owner holds some already, in this mode or exclusively") {
  const auto reading = locks->acquire("a", {.mode = shared});
  const auto writing = locks->acquire("b");
  {
    const auto all = locks->acquire_all({"a", "b", "c"}, {.mode = shared});
    CHECK(reads("a"));
    CHECK_FALSE(reads("b"));
    CHECK(reads("c"));
  }
  CHECK_FALSE(is_free("a"));
  CHECK_FALSE(reads("b"));
  CHECK(is_free("c"));
}

TEST_CASE_METHOD(two_services, "mode: a caller that waits to read several keys holds none of them meanwhile") {
  auto writing = others->acquire("b");
  concurrent_call waiter([&] { locks->acquire_all({"a", "b"}, {.wait = 1h, .mode = shared}).release(); });
  REQUIRE(eventually([&] { return store->count(verb::poll) >= 2; }));
  REQUIRE(clock.at_rest({.callers = 1}));
  CHECK(is_free("a"));
  writing.release();
  thrown_as_time_passes([&] { CHECK(waiter.end() == std::error_code()); });
  CHECK(is_free("b"));
}

TEST_CASE_METHOD(two_services, "mode: a join without an answer is undone") {
  locks->acquire("k", {.mode = shared}).release();
  store->next(verb::take, {.what = fate::drop});  // it was executed
  CHECK(thrown_as_time_passes([&] { locks->acquire("k", {.wait = 5s, .mode = shared}).release(); }) ==
        std::error_code());
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(two_services,
                 "mode: a reader that comes while another thread is being granted the key leaves its grant alone") {
  locks->acquire("other").release();  // it has its session
  bool got = false;
  store->next(verb::insert,
              {.during = [&] { got = elsewhere([&] { return granted(locks->try_acquire("k", {.mode = shared})); }); }});
  const auto held = locks->acquire("k");
  CHECK_FALSE(got);
  CHECK(store->count(verb::cancel) == 0);
  CHECK(fence_of("k") == held.fencing_token());
}

TEST_CASE_METHOD(two_services, "mode: a release without an answer is repeated") {
  auto reading = locks->acquire("k", {.mode = shared});
  store->next(verb::release, {.what = fate::drop});
  let_go(std::move(reading));
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(two_services, "mode: an asynchronous call takes it") {
  std::promise<lease> got;
  locks->async_acquire("k", {.mode = shared}, [&](std::exception_ptr failed, lease held) {
    REQUIRE(failed == nullptr);
    got.set_value(std::move(held));
  });
  const auto held = got.get_future().get();
  CHECK(reads("k"));
  CHECK_FALSE(is_free("k"));
}

TEST_CASE_METHOD(two_services, "mode: several keys at once, shared") {
  const auto reading = others->acquire("b", {.mode = shared});
  auto all = locks->acquire_all({"a", "b", "c"}, {.mode = shared});
  CHECK(reads("a"));
  CHECK_FALSE(is_free("a"));
  CHECK_FALSE(is_free("b"));
  all.release();
  CHECK(is_free("a"));
  CHECK(is_free("c"));
  CHECK_FALSE(is_free("b"));
  const auto exclusive_all = elsewhere([&] { return granted(locks->try_acquire_all({"a", "b"})); });
  CHECK_FALSE(exclusive_all);
  CHECK(elsewhere([&] { return granted(locks->try_acquire_all({"a", "c"})); }));
}

// ---- from exclusive to shared ---------------------------------------------------------------------------------------

TEST_CASE_METHOD(two_services, "downgrade: others read, nobody has written in between, and the last reader frees it") {
  auto held = locks->acquire("k");
  const auto token = held.fencing_token();
  CHECK_FALSE(reads("k"));
  const auto before = locks->statements();
  held.downgrade();
  CHECK(locks->statements() == before + 1);
  CHECK(held.fencing_token() == token);
  CHECK(held.remaining() > 0us);
  CHECK_NOTHROW(held.ensure_held());
  CHECK(reads("k"));
  CHECK_FALSE(is_free("k"));
  CHECK(others->holders("k").size() == 1);
  CHECK(locks->acquire("k", {.mode = shared}).reentered());
  CHECK_THROWS_AS(locks->acquire("k"), lock_deadlock);
  held.release();
  CHECK(elsewhere([&] { return locks->acquire("k").fencing_token(); }) > token);
}

TEST_CASE_METHOD(two_services,
                 "downgrade: a writer that waits gets the key after the reader, and readers that wait at once") {
  auto held = locks->acquire("k");
  const auto token = held.fencing_token();
  std::uint64_t read = 0, written = 0;
  concurrent_call reader([&] { read = locks->acquire("k", {.wait = 1h, .mode = shared}).fencing_token(); });
  REQUIRE(eventually([&] { return locks->waiting() == 1; }));
  REQUIRE(clock.at_rest({.callers = 1}));
  held.downgrade();  // no time passes
  CHECK(reader.over(20s));
  REQUIRE(reader.end() == std::error_code());
  CHECK(read == token);
  concurrent_call writer([&] { written = others->acquire("k", {.wait = 1h}).fencing_token(); });
  for (int i = 0; i < 20; ++i) clock.advance(250ms);
  CHECK_FALSE(writer.over());
  held.release();
  thrown_as_time_passes([&] { REQUIRE(writer.end() == std::error_code()); });
  CHECK(written == token + 1);
}

TEST_CASE_METHOD(one_service, "downgrade: what makes no sense is refused, and the lease stays") {
  int keys = 0;
  const auto refused = [&](const lock_options& options) {
    auto held = locks->acquire("k" + std::to_string(++keys), options);
    CHECK_THROWS_AS(held.downgrade(), std::logic_error);
    CHECK(held);
    CHECK_NOTHROW(held.ensure_held());
    CHECK_NOTHROW(held.release());
  };
  refused({.mode = shared});
  refused({.mode = one_of(3)});
  refused({.renewal = renewal::none});
  refused({.renewal = renewal::manual});
  refused({.min_hold = 1ms});
  {
    auto outer = locks->acquire("k");
    auto inner = locks->acquire("k");
    CHECK_THROWS_AS(outer.downgrade(), std::logic_error);
    CHECK_THROWS_AS(inner.downgrade(), std::logic_error);
    inner.release();
    CHECK_NOTHROW(outer.downgrade());
  }
  lease nothing;
  CHECK_THROWS_AS(nothing.downgrade(), std::logic_error);
  store->can().shares = false;
  const auto cannot = service();
  auto held = cannot->acquire("l");
  CHECK_THROWS_AS(held.downgrade(), std::invalid_argument);
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(one_service, "downgrade: what was lost before is empty afterwards, and is reported") {
  auto held = locks->acquire("k", {.ttl = 10s});
  store->cut();
  clock.advance(9500ms);
  REQUIRE(is_lost(held));
  CHECK_THROWS_AS(held.downgrade(), lock_lost);
  CHECK_FALSE(held);
  store->cut(false);
}

TEST_CASE_METHOD(one_service, "downgrade: a holder that others have robbed is told, and holds nothing") {
  auto held = locks->acquire("k");
  store->next(verb::pass_on, {.what = fate::say, .answer = outcome::no});
  CHECK_THROWS_AS(held.downgrade(), lock_lost);
  CHECK_FALSE(held);
}

TEST_CASE_METHOD(one_service, "downgrade: without an answer the key is freed in the background, whatever was done") {
  const auto what = GENERATE(fate::drop, fate::ghost, fate::vanish);
  auto held = locks->acquire("k");
  store->next(verb::pass_on, {.what = what});
  CHECK(thrown_as_time_passes([&] { held.downgrade(); }) == errc::outcome_unknown);
  CHECK_FALSE(held);
  store->run_ghosts();
  CHECK(eventually([&] {
    clock.advance(1s);
    return is_free("k");
  }));
}

TEST_CASE_METHOD(one_service, "downgrade: the tokens and max_hold of before end the reader") {
  auto held = locks->acquire("k", {.ttl = 10s, .max_hold = 5s});
  const auto token = held.lost_token();
  held.downgrade();
  clock.advance(4s);
  CHECK(held.remaining() > 0us);
  CHECK_FALSE(token.stop_requested());
  clock.advance(1s);
  CHECK(eventually([&] { return token.stop_requested(); }));
  CHECK(held.loss() == loss_reason::max_hold);
}

TEST_CASE_METHOD(two_services, "downgrade: distributed_shared_mutex::unlock_and_lock_shared()") {
  distributed_shared_mutex mine{*locks, "k"}, theirs{*others, "k"};
  CHECK_THROWS_AS(mine.unlock_and_lock_shared(), std::system_error);
  mine.lock();
  const auto token = mine.held().fencing_token();
  mine.unlock_and_lock_shared();
  std::shared_lock reading(mine, std::adopt_lock);
  CHECK(mine.held_shared().fencing_token() == token);
  CHECK_THROWS_AS(mine.held(), std::system_error);
  CHECK(elsewhere([&] { return std::shared_lock(theirs, std::try_to_lock).owns_lock(); }));
  CHECK_FALSE(elsewhere([&] { return std::unique_lock(theirs, std::try_to_lock).owns_lock(); }));
  reading.unlock();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(two_services, "mode: operators see the holders and revoke them all") {
  const auto mine = locks->acquire("k", {.ttl = 10s, .mode = shared});
  const auto theirs = others->acquire("k", {.ttl = 10s, .mode = shared});
  CHECK(locks->holders("k").size() == 2);
  CHECK(locks->holders("never").empty());
  CHECK(locks->holder("k"));
  CHECK(locks->held_keys(10).size() == 2);
  CHECK(locks->force_release("k"));
  clock.advance(10s);
  CHECK(eventually([&] { return is_free("k"); }));
}

TEST_CASE_METHOD(one_service, "mode: what is not defined is refused at the call") {
  const auto refused = [&](const lock_options& options) {
    CHECK_THROWS_AS(locks->acquire("k", options), std::invalid_argument);
    CHECK_THROWS_AS(locks->try_acquire("k", options), std::invalid_argument);
    CHECK_THROWS_AS(locks->acquire_all({"k", "l"}, options), std::invalid_argument);
  };
  for (const auto mode : {shared, one_of(3)}) {
    refused({.renewal = renewal::none, .mode = mode});
    refused({.renewal = renewal::manual, .mode = mode});
    refused({.min_hold = 1s, .mode = mode});
    refused({.linger = 1s, .mode = mode});
    refused({.fairness = fairness::fifo, .mode = mode});
  }
  refused({.mode = one_of(0)});
  refused({.mode = one_of(3, 0)});
  refused({.mode = one_of(3, 4)});
  refused({.mode = one_of(1'000'001)});
  CHECK_THROWS_AS(service([](auto& settings) { settings.defaults.mode = shared; }), std::invalid_argument);
  CHECK_THROWS_AS(locks->once("k", {.lock = {.mode = shared}}, [] {}), std::invalid_argument);
  CHECK_THROWS_AS((leader{*locks, "k", [](leadership&) {}, {.lock = {.mode = shared}}}), std::invalid_argument);
  CHECK(store->count(verb::take) == 0);
  store->can().shares = false;
  const auto cannot = service();
  CHECK_THROWS_AS(cannot->acquire("k", {.mode = shared}), std::invalid_argument);
  CHECK_NOTHROW(cannot->acquire("k", {.mode = exclusive}));
}

TEST_CASE_METHOD(one_service, "mode: with_lock and the macros take it") {
  const auto outer = [&] { return elsewhere([&] { return granted(locks->try_acquire("k", {.mode = shared})); }); };
  CHECK(locks->with_lock("k", {.mode = shared}, outer));
  CHECK_FALSE(locks->with_lock("k", outer));
  set_default_service(*locks);
  bool read = false;
  DISTRIBUTED_LOCKED("k", {.mode = shared}) { read = outer(); }
  CHECK(read);
}

TEST_CASE_METHOD(two_services, "distributed_shared_mutex: the standard's guards, shared and exclusive") {
  distributed_shared_mutex mine{*locks, "k"}, theirs{*others, "k"};
  {
    std::shared_lock reading{mine};
    CHECK(elsewhere([&] { return std::shared_lock(theirs, std::try_to_lock).owns_lock(); }));
    CHECK(elsewhere([&] { return std::shared_lock(mine, std::try_to_lock).owns_lock(); }));
    CHECK_FALSE(elsewhere([&] { return std::unique_lock(theirs, std::try_to_lock).owns_lock(); }));
    CHECK_THROWS_AS(mine.lock(), lock_deadlock);
    CHECK(mine.held_shared().remaining() > 0us);
  }
  {
    std::unique_lock writing{mine};
    CHECK_FALSE(elsewhere([&] { return std::shared_lock(theirs, std::try_to_lock).owns_lock(); }));
    CHECK(thrown([&] { mine.lock_shared(); }) == errc::already_held);
  }
  CHECK(is_free("k"));
  CHECK_THROWS_AS((distributed_shared_mutex{*locks, "k", {.mode = shared}}), std::invalid_argument);
}

TEST_CASE_METHOD(two_services, "distributed_semaphore: each acquire takes a permit, which any thread may release") {
  distributed_semaphore mine{*locks, "k", 3}, theirs{*others, "k", 3};
  mine.acquire();
  mine.acquire();
  CHECK(mine.held() == 2);
  CHECK(theirs.try_acquire());
  CHECK_FALSE(theirs.try_acquire());
  CHECK_FALSE(mine.try_acquire_for(0s));
  elsewhere([&] { return mine.release(), 0; });
  CHECK(theirs.try_acquire());
  CHECK_FALSE(mine.try_acquire());
  mine.release();
  CHECK_THROWS_AS(mine.release(), std::system_error);
  CHECK(mine.try_acquire());
  CHECK_THROWS_AS((distributed_semaphore{*locks, "k", 0}), std::invalid_argument);
  CHECK_THROWS_AS((distributed_semaphore{*locks, "k", 2, {.reentry = reentry::allow}}), std::invalid_argument);
}
