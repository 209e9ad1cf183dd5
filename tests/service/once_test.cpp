// SPDX-License-Identifier: BSL-1.0

// Work that is done once: what becomes of it when something fails. Under the virtual clock.

#include "dlock/distributed_mutex.hpp"
#include "service/engine_fixture.hpp"
#include "service/fake_transactions.hpp"

using namespace dlock::test;
using namespace dlock;

TEST_CASE_METHOD(one_service, "once: it costs one statement when it is done, and runs no more") {
  int runs = 0;
  CHECK_FALSE(locks->done("k"));
  CHECK(locks->once("k", [&] { ++runs; }));
  const auto before = locks->statements();
  CHECK_FALSE(locks->once("k", [&] { ++runs; }));
  CHECK(locks->statements() == before + 1);
  CHECK(runs == 1);
  const auto mark = locks->done("k");
  REQUIRE(mark);
  CHECK(mark->fence == 1);
  CHECK_FALSE(mark->remaining);
  clock.advance(24h * 365);
  CHECK_FALSE(locks->once("k", [&] { ++runs; }));
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "once: a function that throws leaves it undone, and the key free") {
  CHECK_THROWS_AS(locks->once("k", [] { throw std::runtime_error("no disk"); }), std::runtime_error);
  CHECK_FALSE(locks->done("k"));
  CHECK(is_free("k"));
  CHECK(locks->once("k", [] {}));
}

TEST_CASE_METHOD(one_service, "once: for a given time it counts by the server's clock, from the mark on") {
  const once_options for_an_hour{.valid = 1h};
  CHECK(locks->once("k", for_an_hour, [&] { clock.advance(10s); }));
  CHECK(locks->done("k")->remaining == 1h);
  clock.advance(1h - 1us);
  CHECK_FALSE(locks->once("k", for_an_hour, [] {}));
  clock.advance(1us);
  CHECK_FALSE(locks->done("k"));
  CHECK(locks->once("k", for_an_hour, [] {}));
}

TEST_CASE_METHOD(one_service, "once: a late holder marks nothing, and learns it") {
  auto rival = foreign();
  int theirs = 0;
  const auto late = [&] {
    clock.advance(40s);  // this process stood still for longer than the ttl
    CHECK(rival->once("k", [&] { ++theirs; }));
    CHECK(rival->forget_done("k"));
  };
  CHECK(thrown([&] { return locks->once("k", {.lock = {.ttl = 30s}}, late); }) == errc::lost);
  CHECK(theirs == 1);
  CHECK_FALSE(locks->done("k"));
}

TEST_CASE_METHOD(one_service, "once: the store refuses the mark of a holder that does not know of its loss") {
  const auto stolen = [&] { steal("k"); };
  CHECK(thrown([&] { return locks->once("k", stolen); }) == errc::lost);
  CHECK_FALSE(locks->done("k"));
}

TEST_CASE_METHOD(one_service, "once: a mark without an answer is written again as long as the lease lasts") {
  const bool executed = GENERATE(true, false);
  store->next(other_verb::mark, {.what = executed ? fate::drop : fate::vanish});
  bool did = false;
  concurrent_call call([&] { did = locks->once("k", [] {}); });
  while (!call.over()) {
    clock.advance(50ms);
    static_cast<void>(clock.at_rest({.callers = 1}, 10ms));
  }
  CHECK_FALSE(call.end());
  CHECK(did);
  CHECK(locks->done("k"));
}

TEST_CASE_METHOD(one_service, "once: an error of the store that does not pass is thrown, and it is undone") {
  store->next(other_verb::mark, {.what = fate::fail, .why = denied});
  CHECK(thrown([&] { return locks->once("k", [] {}); }) == errc::store_failed);
  CHECK_FALSE(locks->done("k"));
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "once: who waits runs nothing if it was done meanwhile, and runs it if that failed") {
  const bool fails = GENERATE(false, true);
  auto rival = foreign();
  std::atomic<bool> begun{false}, go{false};
  concurrent_call first([&] {
    locks->once("k", [&] {
      begun = true;
      begun.notify_all();
      go.wait(false);
      if (fails) throw lock_refused(errc::cancelled, "the test says so");
    });
  });
  begun.wait(false);
  bool ran = false;
  concurrent_call second([&] { ran = rival->once("k", {.lock = {.wait = 1h}}, [] {}); });
  CHECK(eventually([&] { return rival->waiting() == 1; }));
  go = true;
  go.notify_all();
  CHECK(static_cast<bool>(first.end()) == fails);
  while (!second.over()) {
    clock.advance(250ms);
    static_cast<void>(clock.at_rest({.callers = 1}, 10ms));
  }
  CHECK_FALSE(second.end());
  CHECK(ran == fails);
}

TEST_CASE_METHOD(one_service, "once: wait and cancel are those of the lock") {
  const auto held = held_elsewhere("k");
  CHECK(thrown([&] { return locks->once("k", {.lock = {.wait = 0ms}}, [] {}); }) == errc::timed_out);
  std::stop_source stop;
  stop.request_stop();
  CHECK(thrown([&] { return locks->once("k", {.lock = {.cancel = stop.get_token()}}, [] {}); }) == errc::cancelled);
}

TEST_CASE_METHOD(one_service, "once: a function that asks for its own key is refused, as is the holder of the key") {
  CHECK(thrown([&] { return locks->once("k", [&] { locks->once("k", [] {}); }); }) == errc::already_held);
  CHECK_FALSE(locks->done("k"));
  const auto held = locks->acquire("k");
  CHECK(thrown([&] { return locks->once("k", [] {}); }) == errc::already_held);
  locks->mark_done(held, 1h);  // by hand
  CHECK(locks->done("k")->remaining == 1h);
}

TEST_CASE_METHOD(one_service, "once: the lock's form is refused inside an open transaction, which may be rolled back") {
  const auto held = locks->acquire("held");
  const auto sent = locks->statements();
  {
    const fake_transaction open(*store);
    CHECK(refusal([&] {
            return locks->once("k", [] { FAIL("inside a transaction"); });
          }).find("pass the transaction") != std::string::npos);
    CHECK(refusal([&] { return locks->mark_done(held), 0; }).find("pass the transaction") != std::string::npos);
    CHECK(locks->statements() == sent);
  }
  // One that the function leaves open.
  std::optional<fake_transaction> open;
  CHECK(refusal([&] { return locks->once("k", [&] { open.emplace(*store); }); }).find("pass the transaction") !=
        std::string::npos);
  open.reset();
  CHECK_FALSE(locks->done("k"));
  locks->mark_done(held);
}

TEST_CASE_METHOD(one_service, "once: a mark inside the transaction that verified the lease is refused at once") {
  const auto held = locks->acquire("k");
  const auto grant = detail::access::grant_of(held);
  engine::outlive_transaction(*grant);
  const auto sent = locks->statements();
  CHECK(refusal([&] { return locks->mark_done(held), 0; }).find("verified") != std::string::npos);
  CHECK(locks->statements() == sent);
  engine::transaction_ended(grant);
  locks->mark_done(held);
  CHECK(locks->done("k"));
}

namespace {

/// Until the call is over; at most for 10 minutes of the clock.
template <class Clock, class Call>
void pass_until_over(Clock& clock, Call& call) {
  for (int i = 0; i < 6000 && !call.over(); ++i) {
    clock.advance(100ms);
    static_cast<void>(clock.at_rest({.callers = 1}, 1ms));
  }
}

}  // namespace

TEST_CASE_METHOD(one_service, "once: a mark is tried for the ttl at most, though the lease is renewed for ever") {
  store->next(other_verb::mark, {.what = fate::fail, .why = row_lock, .times = 2000});
  const auto begun = clock.now();
  concurrent_call call([&] { locks->once("k", {.lock = {.ttl = 10s}}, [] {}); });
  pass_until_over(clock, call);
  REQUIRE(call.over());
  CHECK(clock.now() - begun < 12s);
  CHECK(clock.now() - begun > 9s);
  CHECK(call.end() == errc::store_failed);
  CHECK_FALSE(locks->done("k"));
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(one_service, "once: cancel ends the attempts to mark, but not the first one") {
  std::stop_source stop;
  const once_options options{.lock = {.ttl = 10s, .cancel = stop.get_token()}};
  CHECK(locks->once("done", options, [&] { stop.request_stop(); }));
  stop = {};
  store->next(other_verb::mark, {.what = fate::fail, .why = row_lock, .times = 2000});
  const once_options again{.lock = {.ttl = 10s, .cancel = stop.get_token()}};
  const auto sent = store->count(other_verb::mark);
  CHECK(thrown([&] { return locks->once("k", again, [&] { stop.request_stop(); }); }) == errc::store_failed);
  CHECK(store->count(other_verb::mark) == sent + 1);
  CHECK_FALSE(locks->done("k"));
}

TEST_CASE_METHOD(one_service, "once: after an attempt without an answer a lost lease does not say that it is undone") {
  const bool executed = GENERATE(true, false);
  store->next(other_verb::mark, {.what = executed ? fate::drop : fate::vanish});
  std::string said;
  concurrent_call call([&] {
    try {
      locks->once("k", {.lock = {.ttl = 10s, .renewal = renewal::none}},
                  [&] { store->next(other_verb::mark, {.what = fate::fail, .why = row_lock, .times = 2000}); });
    } catch (const lock_lost& why) {
      said = why.what();
    }
  });
  pass_until_over(clock, call);
  REQUIRE(call.over());
  CHECK_FALSE(call.end());
  CAPTURE(said);
  CHECK(said.find("not known whether it was marked") != std::string::npos);
  CHECK(static_cast<bool>(locks->done("k")) == executed);
}

TEST_CASE_METHOD(one_service, "once: a lease that the store refuses to mark by is lost for all") {
  std::string said;
  const auto held = locks->acquire("k");
  steal("k");
  try {
    locks->mark_done(held);
  } catch (const lock_lost& why) {
    said = why.what();
  }
  CHECK(said.find("not marked as done") != std::string::npos);
  CHECK(held.remaining() == 0us);
  CHECK(eventually([&] { return held.lost_token().stop_requested(); }));
}

TEST_CASE_METHOD(one_service, "once: refuses what it can't do, before anything is sent") {
  const auto with = [&](once_options options) { return refusal([&] { return locks->once("k", options, [] {}); }); };
  CHECK(with({.valid = 999ms}).find("valid = 999 ms") != std::string::npos);
  CHECK(with({.valid = 24h * 3651}).find("valid") != std::string::npos);
  CHECK(with({.lock = {.ttl = 1ms}}).find("ttl") != std::string::npos);
  CHECK(with({.lock = {.reentry = reentry::allow}}).find("lock.reentry = allow") != std::string::npos);
  CHECK(refusal([&] { return locks->mark_done({}), 0; }).find("empty lease") != std::string::npos);
  auto rival = foreign();
  const auto theirs = rival->acquire("other");
  CHECK(refusal([&] { return locks->mark_done(theirs), 0; }).find("another service") != std::string::npos);
  CHECK(locks->statements() == 0);
}

TEST_CASE_METHOD(engine_fixture, "once: a store that keeps no marks says so at the call") {
  store->no_marks();
  const auto locks = service();
  CHECK(refusal([&] { return locks->once("k", [] {}); }).find("keeps no marks") != std::string::npos);
  CHECK(refusal([&] { return locks->done("k"), 0; }).find("keeps no marks") != std::string::npos);
  CHECK_FALSE(locks->caps().marks);
}
