// SPDX-License-Identifier: BSL-1.0

// What is different about rows of the application's tables, as the engine sees them. The store beneath takes a row for
// a key of the same bytes.

#include "service/engine_fixture.hpp"

using namespace dlock::test;
using namespace dlock;

namespace {

inline const lock_options half_minute{.ttl = 30s};

/// Rows whose own expiry is renewed, and a service.
struct column_fixture : row_fixture {
  const std::shared_ptr<const row_table> table = table_named("t", row_renewal::column);
  std::unique_ptr<lock_service> locks = service();

  lock_key row(std::int64_t id) { return existing(lock_key::of_row(table, {id})); }
  /// Time passes until the next regular renewal has been sent.
  void renewal_time(std::size_t rows_held = 1) {
    const auto before = store->count(verb::extend);
    clock.advance(10s + 1ms);
    CHECK(eventually([&] { return store->count(verb::extend) == before + rows_held; }));
  }
};

/// And somebody holds a row.
struct held_row : column_fixture {
  const lock_key key = row(1);
  lease held = locks->acquire(key, half_minute);
};

}  // namespace

TEST_CASE_METHOD(column_fixture, "row: what can't be done with rows is refused before any statement") {
  const auto key = lock_key::of_row(table, {std::int64_t{1}});
  CHECK_THROWS_MATCHES(locks->acquire(key, {.ttl = 4999ms}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("ttl = 4999 ms") && ContainsSubstring("row 't:1'")));
  CHECK_THROWS_MATCHES(locks->try_acquire(key, {.ttl = 30s, .min_hold = 1s}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("min_hold = 1000 ms")));
  const auto by_session = lock_key::of_row(table_named("t", row_renewal::session), {std::int64_t{1}});
  CHECK_THROWS_MATCHES(locks->acquire(by_session, {.min_hold = 1s}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("min_hold = 1000 ms")));
  const auto other = foreign();  // straight on the memory store
  CHECK_THROWS_MATCHES(other->acquire(by_session), std::invalid_argument,
                       MessageMatches(ContainsSubstring("no tables whose rows could be locked")));
  CHECK(store->tried() == 0);
  // The bounds themselves.
  CHECK(granted(locks->acquire(row(2), {.ttl = 5s})));
  CHECK(granted(locks->acquire(existing(by_session), {.ttl = 1s})));
}

TEST_CASE_METHOD(column_fixture, "row: one that does not exist is refused, and nothing is left behind") {
  const auto key = lock_key::of_row(table, {std::int64_t{7}});
  const auto refused = caught<lock_refused>([&] { return locks->acquire(key, half_minute); });
  CHECK(refused.code() == errc::no_such_row);
  CHECK(std::string(refused.what()).find("row 't:7'") != std::string::npos);
  CHECK(store->count(verb::insert) == 0);
  CHECK(thrown([&] { return locks->try_acquire(key, half_minute); }) == errc::no_such_row);
  // Its turn is free for the row that comes into being.
  existing(key);
  CHECK(granted(locks->try_acquire(key, half_minute)));
  SECTION("deleted while somebody waits for it") {
    const auto rival = service();
    const auto theirs = rival->acquire(key, half_minute);
    store->next(verb::poll, {.what = fate::say, .answer = outcome::absent, .skip = 1});
    CHECK(thrown_as_time_passes([&] { return locks->acquire(key, half_minute); }) == errc::no_such_row);
  }
  SECTION("a store that finds it out at the take") {
    store->next(verb::take, {.what = fate::say, .answer = outcome::absent});
    CHECK(thrown([&] { return locks->acquire(key, half_minute); }) == errc::no_such_row);
  }
}

TEST_CASE_METHOD(column_fixture, "row: the key of a row is never that of a text which reads the same") {
  const auto key = row(1);
  const lock_key text("t:1");
  const auto held = locks->acquire(key, half_minute);
  // Neither a re-entry, nor behind the row in the queue of this process: the store is asked.
  const auto asked = store->without_row();
  CHECK_FALSE(granted(locks->try_acquire(text, {.reentry = reentry::refuse})));
  CHECK(store->without_row() > asked);
  const auto other = existing(lock_key::of_row(table_named("u", row_renewal::column, "t"), {std::int64_t{1}}));
  const auto taken = store->count(verb::take);
  CHECK_FALSE(granted(locks->try_acquire(other, {.ttl = 30s, .reentry = reentry::refuse})));
  CHECK(store->count(verb::take) > taken);
}

TEST_CASE_METHOD(held_row, "row: threads of one process wait in the queue for it") {
  const auto sent = locks->statements();
  CHECK(elsewhere([&] { return !granted(locks->try_acquire(key, half_minute)); }));
  CHECK(locks->statements() == sent);
  std::thread next([&] {
    const auto theirs = locks->acquire(key, {.ttl = 30s, .wait = 1h});
    CHECK(theirs.fencing_token() == 3);
  });
  held.release();
  next.join();
}

TEST_CASE_METHOD(with_service<row_fixture>,
                 "row: under row_renewal::session it hangs on the session and nothing else") {
  const auto key = existing(lock_key::of_row(table_named("t", row_renewal::session), {std::string("a:b")}));
  const auto held = locks->acquire(key, {.ttl = 30s});
  CHECK(held.key() == "t:a%3Ab");
  CHECK(locks->holder(key)->kind == lease_kind::session);
  REQUIRE(live_on(held, 120s, 30s));
  CHECK(store->count(verb::extend) == 0);
  store->next(session_verb::renew, {.what = fate::vanish, .times = 1000});
  clock.advance(40s);
  CHECK(held.loss() == loss_reason::unreachable);
}

// Rows of the application's tables, as the engine sees them. The store beneath takes a row for a key of the same bytes.

TEST_CASE_METHOD(held_row, "row: under row_renewal::column a lease has an expiry of its own") {
  const auto shown = locks->holder(key);
  REQUIRE(shown);
  CHECK(shown->kind == lease_kind::expiring);
  CHECK(shown->remaining == 30s);
  CHECK(held.remaining() == 30s - 1500ms);
  CHECK(store->with_row() > 0);
  CHECK(store->without_row() == 0);
}

TEST_CASE_METHOD(held_row, "row: its own expiry is renewed each third of the ttl, by one statement") {
  CHECK(at_rest_after(10s - 1us));
  CHECK(store->count(verb::extend) == 0);
  CHECK(at_rest_after(1us));
  CHECK(store->count(verb::extend) == 1);
  CHECK(held.remaining() == 30s - 1500ms);
  CHECK(locks->holder(lock_key::of_row(table, {std::int64_t{1}}))->remaining == 30s);
  REQUIRE(live_on(held, 300s, 30s));
  CHECK(store->count(verb::extend) < 35);
  CHECK_FALSE(held.lost_token().stop_requested());
  CHECK(store->without_row() == 0);
}

TEST_CASE_METHOD(held_row, "row: a renewal that is not answered is told, and tried again soon", "[T29]") {
  SECTION("without an answer, though it was done") { store->next(verb::extend, {.what = fate::drop, .times = 2}); }
  SECTION("on a broken connection") { store->next(verb::extend, {.what = fate::vanish, .times = 2}); }
  renewal_time();
  CHECK(seen->wait_for(event::kind::renewal_late));
  CHECK(held.remaining() < 30s - 1500ms - 10s + 1ms);  // what is not confirmed does not count
  clock.advance(2500ms);
  CHECK(seen->wait_for(event::kind::renewal_late, 2));
  clock.advance(2500ms);
  CHECK(eventually([&] { return held.remaining() == 30s - 1500ms; }));
  CHECK(store->count(verb::extend) == 3);
  CHECK(seen->count(event::kind::renewal_late) == 2);
  CHECK(seen->records().back().what == event::kind::renewal_late);
  CHECK(seen->records().back().key == key.view());
  CHECK_FALSE(seen->records().back().text.empty());
  // And then as usual.
  renewal_time();
}

TEST_CASE_METHOD(held_row, "row: a renewal whose row stays locked is told the second time") {
  // Each time it is sent once without waiting for the row, and then it waits.
  const auto finds_it_locked = [&](std::chrono::microseconds after) {
    store->next(verb::extend, {.what = fate::fail, .why = row_lock, .times = 2});
    const auto before = store->count(verb::extend);
    REQUIRE(at_rest_after(after));
    CHECK(store->count(verb::extend) == before + 2);
  };
  finds_it_locked(10s + 1ms);
  CHECK(seen->count(event::kind::renewal_late) == 0);
  finds_it_locked(2500ms);
  CHECK(seen->wait_for(event::kind::renewal_late));
  REQUIRE(at_rest_after(2500ms));
  CHECK(held.remaining() == 30s - 1500ms);
  CHECK(seen->count(event::kind::renewal_late) == 1);
}

TEST_CASE_METHOD(held_row, "row: without a connection its renewal is told to be late") {
  REQUIRE(clock.at_rest());
  const auto blocked = [&] {  // of the row: its session is renewed as well
    std::size_t count = 0;
    for (const auto& each : seen->records()) {
      count += each.what == event::kind::renewal_late && each.key == key.view() ? 1 : 0;
    }
    return count;
  };
  store->cut();
  clock.advance(10s);  // what the pool has breaks
  REQUIRE(clock.at_rest());
  CHECK(blocked() == 1);
  REQUIRE(at_rest_after(2500ms));
  CHECK(blocked() == 2);
  CHECK(store->count(verb::extend) <=
        1);  // on the pool's connection, unless the session's renewal found it broken before
  store->cut(false);
  REQUIRE(at_rest_after(2500ms));
  CHECK(held.remaining() == 30s - 1500ms);
}

TEST_CASE_METHOD(held_row, "row: a renewal that finds somebody else's row is a loss") {
  steal(key);
  renewal_time();
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::taken_over);
  CHECK(seen->wait_for(event::kind::lost));
  for (int i = 0; i < 2; ++i) CHECK(at_rest_after(10s));
  CHECK(store->count(verb::extend) == 1);
}

TEST_CASE_METHOD(held_row, "row: without a renewal it is lost before the server could give it away", "[T29]") {
  store->next(verb::extend, {.what = fate::fail, .why = row_lock, .times = 1000});
  clock.advance(28s);
  CHECK(held.remaining() == 500ms);
  clock.advance(500ms);
  CHECK(held.remaining() == 0us);
  CHECK(held.loss() == loss_reason::unreachable);
  CHECK(is_lost(held));
  store->forget_scripts();
  CHECK(clock.at_rest());  // what was under way is counted
  // Once late, it stays lost: nothing revives it.
  const auto sent = store->count(verb::extend);
  CHECK(at_rest_after(5s));
  CHECK(store->count(verb::extend) == sent);
  CHECK(held.loss() == loss_reason::unreachable);
  CHECK(is_free(key));
}

TEST_CASE_METHOD(held_row, "row: a renewal that is answered after the deadline revives nothing", "[T29]") {
  const auto late = std::make_shared<gate>();
  store->next(verb::extend, {.after = late});
  clock.advance(27s);
  REQUIRE(late->reached());
  clock.advance(1500ms);
  CHECK(held.loss() == loss_reason::unreachable);
  late->open();
  CHECK(eventually([&] { return store->count(verb::extend) == 1; }));
  CHECK(is_lost(held));
  CHECK(held.remaining() == 0us);
  CHECK(held.loss() == loss_reason::unreachable);
}

TEST_CASE_METHOD(held_row, "row: trust counts from when the renewal was sent", "[T29]") {
  const auto slow = store->hold(verb::extend);
  clock.advance(10s);
  REQUIRE(slow->reached());
  clock.advance(4s);
  slow->open();
  CHECK(eventually([&] { return held.remaining() == 30s - 1500ms - 4s; }));
}

TEST_CASE_METHOD(held_row, "row: a renewal that hangs is interrupted and repeated") {
  const auto stuck = store->hold(verb::extend);
  clock.advance(10s);
  REQUIRE(stuck->reached());
  CHECK(as_time_passes([&] { return store->count(verb::extend) == 2; }));
  CHECK(eventually([&] { return held.remaining() > 20s; }));
  CHECK(held.loss() == loss_reason::none);
}

TEST_CASE_METHOD(held_row, "row: while a transaction of ours has the row, its renewal waits for that") {
  const auto other = locks->acquire(row(2), half_minute);
  const auto grant = detail::access::grant_of(held);
  engine::outlive_transaction(*grant);
  renewal_time();  // the other's
  CHECK(eventually([&] { return other.remaining() > 20s; }));
  CHECK(held.remaining() < 20s);
  engine::transaction_ended(grant);
  clock.advance(2500ms);
  CHECK(eventually([&] { return held.remaining() == 30s - 1500ms; }));
  CHECK(store->count(verb::extend) == 2);
  CHECK(seen->count(event::kind::renewal_late) == 0);
}

TEST_CASE_METHOD(column_fixture, "row: sessions are renewed while the renewal of a row hangs") {
  const auto key = locks->acquire("key", {.ttl = 5s});
  const auto held = locks->acquire(row(1), half_minute);
  const auto stuck = store->hold(verb::extend);
  const auto again = store->hold(verb::extend);
  for (int i = 0; i < 5; ++i) REQUIRE(live_on(key, 4s, 5s));
  CHECK(stuck->reached());
  CHECK(key.loss() == loss_reason::none);
}

TEST_CASE_METHOD(column_fixture, "row: another program's transaction on some rows costs no other its lease") {
  const auto beside = service();  // 4 connections
  constexpr int many = 20, locked = 8;
  const lock_options short_lease{.ttl = 5s};
  std::vector<lease> all;
  for (int i = 0; i < many; ++i) all.push_back(beside->acquire(row(i), short_lease));
  REQUIRE(clock.at_rest());
  for (int i = 0; i < locked; ++i) store->lock_row(row(i));
  for (int passed = 0; passed < 8000; passed += 50) REQUIRE(at_rest_after(50ms, {}, 20s));
  for (int i = locked; i < many; ++i) {
    CAPTURE(i);
    CHECK(all[static_cast<std::size_t>(i)].loss() == loss_reason::none);
    CHECK(all[static_cast<std::size_t>(i)].remaining() > 5s - 250ms - 1700ms);
  }
  for (int i = 0; i < locked; ++i) store->unlock_row(row(i));
}

TEST_CASE_METHOD(column_fixture, "row: what others have locked for a while is renewed as soon as they let go") {
  const auto beside = service();
  constexpr int many = 40;
  std::vector<lease> all;
  for (int i = 0; i < many; ++i) all.push_back(beside->acquire(row(i), half_minute));
  REQUIRE(clock.at_rest());
  for (int i = 0; i < many; ++i) store->lock_row(row(i));
  for (int passed = 0; passed < 27000; passed += 100) REQUIRE(at_rest_after(100ms, {}, 20s));
  CHECK(seen->count(event::kind::renewal_late) > many);
  for (int i = 0; i < many; ++i) store->unlock_row(row(i));
  REQUIRE(at_rest_after(1s));
  for (const auto& each : all) CHECK(each.loss() == loss_reason::none);
}

TEST_CASE_METHOD(column_fixture, "row: what stays locked is waited for, on at most half of the connections") {
  const auto beside = service();  // 4 connections
  std::vector<lease> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(beside->acquire(row(i), half_minute));
    store->lock_row(row(i));
  }
  REQUIRE(at_rest_after(10s));
  CHECK(store->waited_for().size() == 2);
  for (int i = 0; i < 6; ++i) store->unlock_row(row(i));
  REQUIRE(at_rest_after(1s));  // those two
  REQUIRE(at_rest_after(1500ms));
  for (const auto& each : all) CHECK(each.remaining() > 20s);
  CHECK(seen->count(event::kind::renewal_late) == 0);
}

TEST_CASE_METHOD(column_fixture, "row: many are renewed by few statements") {
  const auto beside = service();
  constexpr std::size_t many = 200;
  std::vector<lease> all;
  for (std::size_t i = 0; i < many; ++i) all.push_back(beside->acquire(row(static_cast<int>(i)), half_minute));
  for (int i = 0; i < 5; ++i) {
    renewal_time(many);
    REQUIRE(clock.at_rest());  // all answers have been read, so the next renewals are due together
  }
  CHECK(store->batches(verb::extend) <= std::size_t{5} * 8);
  for (const auto& each : all) CHECK(eventually([&] { return each.remaining() > 18s; }));
}

TEST_CASE_METHOD(held_row, "row: a renewal that arrives after the row was released is no loss", "[T18]") {
  const auto late = store->hold(verb::extend);
  clock.advance(10s);
  REQUIRE(late->reached());
  CHECK_NOTHROW(held.release());
  CHECK(is_free(key));
  late->open();
  CHECK(eventually([&] { return store->count(verb::extend) == 1; }));
  locks.reset();  // its threads have ended: whatever they made of the answer was told
  CHECK(seen->count(event::kind::lost) == 0);
  CHECK(seen->count(event::kind::split_brain) == 0);
  CHECK(seen->count(event::kind::released) == 1);
}

TEST_CASE_METHOD(held_row, "row: a release ends its renewals") {
  renewal_time();
  held.release();
  CHECK(is_free(key));
  for (int i = 0; i < 2; ++i) CHECK(at_rest_after(10s));
  CHECK(store->count(verb::extend) == 1);
}

TEST_CASE_METHOD(held_row, "row: a lease that outlives its service is renewed, and with the last one all ends") {
  CHECK(locks->close(0ms) == std::vector<std::string>{"t:1"});
  locks.reset();
  REQUIRE(live_on(held, 60s, 30s));
  CHECK(held.loss() == loss_reason::none);
  held.release();
  CHECK(is_free(key));
  CHECK(eventually([&] { return store->connections() == 0; }));
}

TEST_CASE_METHOD(column_fixture, "row: the service's end does not wait for the next renewal") {
  { const auto held = locks->acquire(row(1), half_minute); }
  locks.reset();
  CHECK(store->connections() == 0);
}

TEST_CASE_METHOD(column_fixture, "row: a renewal that would be due while the service ends keeps no thread busy") {
  { const auto held = locks->acquire(row(1), half_minute); }
  clock.advance(10s - 1ms);
  const auto stuck = store->hold(session_verb::close);
  std::thread ending([&] { locks.reset(); });
  REQUIRE(stuck->reached());
  CHECK(at_rest_after(1ms, {.busy = 1}));  // who sends the end of the session; the timer sleeps
  stuck->open();
  ending.join();
  CHECK(eventually([&] { return store->connections() == 0; }));
  CHECK(store->count(verb::extend) == 0);
}

TEST_CASE_METHOD(held_row, "row: the service's end does not wait for a renewal that hangs") {
  const auto stuck = store->hold(verb::extend);
  clock.advance(10s);
  REQUIRE(stuck->reached());
  held.release();
  locks.reset();
  CHECK(store->connections() == 0);
}

TEST_CASE_METHOD(held_row, "row: re-entry sends nothing, least of all to a row that our transaction has") {
  clock.advance(5s);
  const auto sent = locks->statements();
  const auto again = locks->acquire(key, {.ttl = 60s});
  CHECK(again.reentered());
  CHECK(again.fencing_token() == held.fencing_token());
  CHECK(locks->statements() == sent);
  CHECK(store->count(verb::extend) == 0);
}

TEST_CASE_METHOD(column_fixture, "row: a lease that is lost is not renewed, though somebody still has it") {
  const auto key = row(1);
  const auto held = locks->acquire(key, {.ttl = 30s, .max_hold = 5s});
  clock.advance(5s);
  CHECK(is_lost(held));
  CHECK(held.loss() == loss_reason::max_hold);
  for (int i = 0; i < 2; ++i) CHECK(at_rest_after(5s));
  CHECK(store->count(verb::extend) == 0);
}

TEST_CASE_METHOD(column_fixture, "row: renewal::none and manual are left to themselves") {
  const auto none = locks->acquire(row(1), {.ttl = 30s, .renewal = renewal::none});
  const auto manual = locks->acquire(row(2), {.ttl = 30s, .renewal = renewal::manual});
  CHECK(at_rest_after(15s));
  CHECK(store->count(verb::extend) == 0);
  auto again = locks->acquire(row(2), {.ttl = 30s, .renewal = renewal::manual});
  CHECK(store->count(verb::extend) == 1);  // as for keys: an expiry of its own is extended by the inner one
  clock.advance(14s);
  CHECK(none.loss() == loss_reason::expired);
  CHECK(manual.loss() == loss_reason::none);
  again.renew();
  CHECK(again.remaining() == 30s - 1500ms);
}

TEST_CASE_METHOD(column_fixture, "row: what would renew a lease ends with it, and wakes nobody later") {
  counted_waits time(clock);
  const auto busy = service([&](auto& settings) { settings.time = &time; });
  constexpr int leases = 90;
  for (int i = 0; i < leases; ++i) {  // until a second before the first of them would be renewed
    busy->acquire(row(1), half_minute).release();
    CHECK(at_rest_after(100ms));
  }
  const auto waits = time.count();
  for (int i = 0; i <= leases; ++i) CHECK(at_rest_after(100ms));
  CHECK(time.count() - waits <= 25);  // the session looks at its deadline each second, and is renewed once
  CHECK(store->count(verb::extend) == 0);
}

// renew() to another duration than that of the options.

TEST_CASE_METHOD(one_service, "renew(ttl): the expiry is then now + that, this once, and never earlier") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  clock.advance(5s);
  held.renew(60s);
  CHECK(locks->holder("k")->remaining == 60s);
  CHECK(held.remaining() == 57s);  // less the margin
  held.renew();
  CHECK(locks->holder("k")->remaining == 60s);
  clock.advance(56s);
  CHECK(held.loss() == loss_reason::none);
  held.renew();
  CHECK(locks->holder("k")->remaining == 10s);
  CHECK(held.remaining() == 9500ms);
  CHECK(store->count(verb::extend) == 3);
}

TEST_CASE_METHOD(one_service, "renew(ttl): a bad one is refused before anything is sent") {
  auto held = locks->acquire("k", {.ttl = 10s, .renewal = renewal::manual});
  for (const auto ttl : {-1ms, 0ms, 9ms, std::chrono::milliseconds{24h * 30} + 1ms}) {
    CHECK_THROWS_AS(held.renew(ttl), std::invalid_argument);
  }
  const auto careful = service([](auto& settings) { settings.margin = 2s; });
  auto other = careful->acquire("l", {.ttl = 10s, .renewal = renewal::manual});
  CHECK_THROWS_AS(other.renew(7s), std::invalid_argument);  // the margin is more than a quarter
  CHECK(store->count(verb::extend) == 0);
  auto kept = locks->acquire("kept");
  CHECK_THROWS_AS(kept.renew(10s), std::logic_error);
  lease none;
  CHECK_THROWS_AS(none.renew(10s), std::logic_error);
  multi_lease no_keys;
  CHECK_THROWS_AS(no_keys.renew(10s), std::logic_error);
}

TEST_CASE_METHOD(one_service, "renew(ttl): all leases of a multi_lease") {
  auto held = locks->acquire_all({"a", "b"}, {.ttl = 10s, .renewal = renewal::manual});
  held.renew(1h);
  CHECK(locks->holder("a")->remaining == 1h);
  CHECK(locks->holder("b")->remaining == 1h);
  CHECK(held.remaining() == 57min);
}

TEST_CASE_METHOD(with_service<row_fixture>, "renew(ttl): a row's own expiry has at least the ttl that such rows have") {
  const auto key = existing(lock_key::of_row(table_named("t", row_renewal::column), {1}));
  auto held = locks->acquire(key, {.ttl = 10s, .renewal = renewal::manual});
  CHECK_THROWS_AS(held.renew(4999ms), std::invalid_argument);
  held.renew(20s);
  CHECK(locks->holder(key)->remaining == 20s);
}
