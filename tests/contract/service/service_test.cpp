// SPDX-License-Identifier: BSL-1.0

/// What a lock_service does on every store: who gets a key, and what it costs.

#include "contract/service/service_contract.hpp"
#include "dlock/leader.hpp"
#include "dlock/multi_lease.hpp"
#include "support/process_view.hpp"

namespace dlock::test {

TEST_CASE_METHOD(service_fixture, "service: one holder at a time, who waits gets the key, with the next fence") {
  auto mine = a.locks.acquire("k");
  const auto first = fence_of(mine);
  CHECK(follows(first, 0));
  CHECK_FALSE(granted(b.locks.try_acquire("k")));
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 20ms}); }) == errc::timed_out);
  CHECK(granted(b.locks.try_acquire("other")));
  std::atomic<bool> got{false};
  lease theirs;
  std::thread waiter([&] {
    theirs = b.locks.acquire("k", {.wait = 20s});
    got = true;
  });
  CHECK(eventually([&] { return b.waits(); }));
  CHECK_FALSE(got);
  mine.release();
  waiter.join();
  CHECK(got);
  CHECK(follows(fence_of(theirs), first));
  CHECK_FALSE(granted(a.locks.try_acquire("k")));
}

TEST_CASE_METHOD(service_fixture, "leader: one of two processes leads, and the other one when it resigns") {
  std::atomic<int> leading{0}, terms{0};
  std::atomic<std::uint64_t> last{0};
  std::atomic<bool> wrong{false};
  const auto serve = [&](leadership& term) {
    wrong = wrong || ++leading != 1 || !follows(fence_of(term.held()), last);
    last = fence_of(term.held());
    ++terms;
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, term.stop_token(), [] { return false; });
    --leading;
  };
  leader first(a.locks, "k", serve, {.pause = 1h, .max_pause = 1h});
  REQUIRE(eventually([&] { return first.leads(); }));
  leader second(b.locks, "k", serve);
  CHECK(eventually([&] { return b.waits(); }));
  CHECK_FALSE(second.leads());
  first.resign();
  CHECK(eventually([&] { return second.leads(); }));
  CHECK_FALSE(first.leads());
  CHECK(eventually([&] { return terms == 2; }));  // it leads before its function begins
  second.request_stop();
  CHECK(eventually([&] { return is_free("k"); }));
  CHECK_FALSE(wrong);
}

TEST_CASE("service: a program that is started inherits no descriptor, and the service's threads get no signals") {
  const auto fixture = make_store_fixture();
  static_cast<void>(fixture->time());  // may begin a thread of the test's
  const auto descriptors = inheritable_descriptors();
  const auto threads = blocked_signals();
  process a{*fixture}, b{*fixture};
  auto mine = a.locks.acquire("k");
  std::atomic<pid_t> caller{0};
  std::thread waiter([&] {
    caller = static_cast<pid_t>(::syscall(SYS_gettid));
    granted(b.locks.acquire("k", {.wait = 20s}));
  });
  CHECK(eventually([&] { return b.waits(); }));
  // A connection that is being made right now has a socket of which the client library has said nothing yet.
  std::set<std::string> inherited;
  const auto nothing_inherited = [&] {
    inherited.clear();
    for (const auto& each : inheritable_descriptors()) {
      if (!descriptors.contains(each)) inherited.insert(each);
    }
    return inherited.empty();
  };
  if (!fixture->leaves_descriptors()) {
    static_cast<void>(eventually(nothing_inherited));
    CHECK(inherited == std::set<std::string>{});
  }
  // While a thread begins, it blocks everything for a moment.
  std::size_t of_dlock = 0;
  std::string wrong;
  const auto signals_are_right = [&] {
    of_dlock = 0;
    wrong.clear();
    for (const auto& [thread, blocked] : blocked_signals()) {
      if (threads.contains(thread) || thread == std::to_string(caller)) continue;
      ++of_dlock;
      for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE}) {
        if ((blocked >> (signal - 1) & 1) == 0) wrong += thread + " gets " + std::to_string(signal) + "; ";
      }
      if ((blocked >> (SIGSEGV - 1) & 1) != 0) wrong += thread + " blocks SIGSEGV; ";
    }
    return wrong.empty();
  };
  static_cast<void>(eventually(signals_are_right));
  CHECK(wrong == "");
  CHECK(of_dlock > 0);
  mine.release();
  waiter.join();
}

TEST_CASE_METHOD(service_fixture, "service: re-entry costs nothing and the outermost release frees the key",
                 "[T41][T43]") {
  auto outer = a.locks.acquire("k");
  const auto before = a.locks.statements();
  auto inner = a.locks.acquire("k");
  CHECK(a.locks.statements() == before);
  CHECK(fence_of(inner) == fence_of(outer));
  inner.release();
  CHECK(a.locks.statements() == before);
  CHECK_FALSE(is_free("k"));
  outer.release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(service_fixture, "service: a known free key is one statement, its release another") {
  a.locks.acquire("k").release();
  // On a slow machine it may be held for so long that its release looks for a waiter.
  const auto looks = [&] { return fixture->looks_apart() ? a.store->looked() : 0; };
  const auto before = a.locks.statements() - looks();
  auto held = a.locks.acquire("k");
  CHECK(a.locks.statements() - looks() == before + 1);
  held.release();
  CHECK(a.locks.statements() - looks() == before + 2);
}

TEST_CASE_METHOD(service_fixture, "service: who waited in vain leaves nothing in the way of the next", "[T39][T90]") {
  auto mine = a.locks.acquire("k");
  CHECK(thrown([&] { return b.locks.acquire("k", {.wait = 300ms}); }) == errc::timed_out);
  mine.release();
  process c{*fixture};
  CHECK(eventually([&] { return granted(c.locks.try_acquire("k")); }));
}

TEST_CASE_METHOD(service_fixture, "service: attempts that fail leave neither key nor connection behind", "[T80]") {
  const auto held = a.locks.acquire("k");
  for (const auto* key : {"free", "unanswered"}) b.locks.acquire(key).release();
  CHECK_FALSE(granted(b.locks.try_acquire_all({"free", "k"})));
  const auto connections = b.store->connections();
  for (int i = 0; i != 60; ++i) {
    CHECK_FALSE(granted(b.locks.try_acquire("k")));
    CHECK_FALSE(granted(b.locks.try_acquire_all({"free", "k"})));
    if (i % 5 != 0) continue;
    for (const auto at : {verb::take, verb::insert}) b.store->next(at, {.what = fate::drop});
    CHECK(thrown([&] { return b.locks.try_acquire("unanswered"); }) == errc::outcome_unknown);
    b.store->forget_scripts();
  }
  CHECK(eventually([&] { return is_free("free") && is_free("unanswered"); }));
  CHECK(b.store->connections() <= connections + 3);  // what was not answered is settled over others
  CHECK(a.locks.held_keys().size() == 1);
  CHECK_NOTHROW(held.ensure_held());
}

TEST_CASE_METHOD(service_fixture, "service: many threads of several processes, never two on a key, no fence twice",
                 "[T48][T57]") {
  constexpr std::size_t keys = 2;
  constexpr int rounds = 15;
  struct counter {
    std::atomic<int> inside{0};
    std::uint64_t last = 0;  // guarded by the lock alone
    int visits = 0;
    std::atomic<int> wrong{0};
  };
  std::array<counter, keys> data;
  std::array<process*, 2> all{&a, &b};
  std::atomic<int> failed{0};
  on_threads(6, [&](int t) {
    for (int i = 0; i < rounds; ++i) {
      auto& counter = data[static_cast<std::size_t>(i + t) % keys];
      const auto key = "k" + std::to_string((i + t) % static_cast<int>(keys));
      try {
        const auto held = all[static_cast<std::size_t>(t % 2)]->locks.acquire(
            key, {.wait = 60s, .retry = {.pause = 1ms, .max_pause = 5ms}});
        // Not the next one to the number: a grant whose answer did not come in time is given back.
        if (++counter.inside != 1 || (can.fence && fence_of(held) <= counter.last)) ++counter.wrong;
        counter.last = fence_of(held);
        ++counter.visits;
        --counter.inside;
      } catch (const error&) {
        ++failed;
      }
    }
  });
  CHECK(failed == 0);
  CHECK(data[0].visits + data[1].visits == 6 * rounds);
  for (auto& each : data) CHECK(each.wrong == 0);
}

// Leases on every store: what they can and what not, how they are renewed, given up and lost, and released without an
// answer. Expiries may be rounded up to seconds here.

TEST_CASE_METHOD(service_fixture, "lease: acquired ten times and released nine times, a key is still held", "[T41]") {
  std::vector<lease> held;
  const owner me;  // one request, whatever its leases stand in
  {
    const owner_scope here{me};
    for (int i = 0; i < 10; ++i) held.push_back(a.locks.acquire("k", {.ttl = 10s, .wait = 1s}));
  }
  const auto sent = a.locks.statements();
  for (int i = 0; i < 9; ++i) {
    held.back().release();
    held.pop_back();
  }
  CHECK(a.locks.statements() == sent);
  CHECK_FALSE(is_free("k"));
  held.back().release();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(service_fixture, "lease: a fencing token is given or refused, as the store's table has it") {
  const auto held = a.locks.acquire("k");
  if (can.fence) {
    CHECK(held.fencing_token() > 0);
    CHECK(b.locks.holder("k")->fence == held.fencing_token());
    return;
  }
  const auto text = refusal([&] { return held.fencing_token(); });
  CHECK(text.find(a.locks.name()) != std::string::npos);
  CHECK(text.find("no fencing tokens") != std::string::npos);
  CHECK(b.locks.holder("k")->fence == 0);
}

TEST_CASE_METHOD(service_fixture, "lease: what the store can't do is refused at the call, before any statement") {
  const auto sent = a.locks.statements();
  const auto names_store = [&](const std::string& text) { return text.find(a.locks.name()) != std::string::npos; };
  if (!can.expiring_leases && !can.renewed_leases) {
    for (const auto how : {renewal::none, renewal::manual}) {
      CHECK(names_store(refusal([&] { return a.locks.try_acquire("k", {.ttl = 1s, .renewal = how}); })));
      CHECK(names_store(refusal([&] { return a.locks.try_acquire_all({"k", "l"}, {.ttl = 1s, .renewal = how}); })));
    }
  }
  if (!can.min_hold) {
    CHECK(names_store(refusal([&] { return a.locks.try_acquire("k", {.min_hold = 1s}); })));
    CHECK(names_store(refusal([&] { return a.locks.try_acquire_all({"k", "l"}, {.min_hold = 1s}); })));
  }
  if (!can.any_key) {
    CHECK(names_store(refusal([&] { return a.locks.try_acquire(std::string(300, 'x')); })));
    CHECK(names_store(refusal([&] { return a.locks.try_acquire_all({"k", std::string(300, 'y')}); })));
  }
  CHECK(a.locks.statements() == sent);
  lock_service plain{fixture->open(), {.time = &fixture->time()}};
  const auto held = plain.acquire("k");
  if (fixture->open()->transactions() == nullptr) CHECK(names_store(refusal([&] { return held.verification(); })));
}

TEST_CASE_METHOD(service_fixture, "lease: a lazy service sends as many statements as any other") {
  const auto sent_by = [&](bool lazy) {
    const auto store = std::make_shared<faulty_store>(
        fixture->url().empty() ? fixture->open() : open_store(fixture->url()));  // not prepared
    lock_service locks{store, {.close_limit = 0ms, .lazy = lazy, .cleanup_interval = 0ms, .time = &fixture->time()}};
    const auto looks = [&] { return fixture->looks_apart() ? store->looked() : 0; };
    locks.acquire("k").release();  // now it is connected
    const auto before = locks.statements() - looks();
    CHECK(granted(locks.try_acquire("k")));
    locks.acquire("k", {.wait = 2s}).release();
    return locks.statements() - looks() - before;
  };
  CHECK(sent_by(true) == sent_by(false));
}

TEST_CASE_METHOD(service_fixture, "lease: work longer than the ttl keeps the key, because the service renews the lease",
                 "[T13]") {
  CHECK(at_some_pace([&](int slower) {
    const lock_key key("k" + std::to_string(slower));
    const auto renewals = [&] { return a.store->count(verb::extend) + a.store->count(session_verb::renew); };
    const auto before = renewals();
    const auto asked = now();
    const auto held = a.locks.acquire(key, {.ttl = slower * 1s, .wait = 60s});
    for (const auto end = now() + slower * 2s + fixture->rounding(); now() < end && held.remaining() > 0us;) pass(20ms);
    if (!still_held(held, key, asked, slower * 1s) || renewals() < before + 4) return false;
    const auto row = b.locks.holder(key);
    if (!row || row->fence != fence_of(held)) return false;
    return fixture->hides_holders() || eventually([&] {  // a renewal may come between the two
             const auto shown = b.locks.holder(key);
             return shown && held.remaining() <= shown->remaining;
           });
  }));
}

TEST_CASE_METHOD(service_fixture, "lease: attempts without an answer hold nothing in the end", "[T14]") {
  const auto fate = GENERATE(fate::drop, fate::ghost, fate::vanish);
  a.locks.acquire("old").release();
  // Which of them a store sends for which key is its own affair. Where a take may wait, a poll comes first, and then an
  // insert.
  for (const auto& verbs :
       {std::vector{verb::take}, std::vector{verb::insert}, std::vector{verb::take, verb::insert}}) {
    const auto never_used = "new" + std::to_string(verbs.size()) + std::to_string(static_cast<int>(verbs.front()));
    for (const auto& key : {std::string("old"), never_used}) {
      INFO(key << ", " << verbs.size() << " verbs from " << static_cast<int>(verbs.front()) << " on");
      const auto sent = [&] {
        std::size_t all = 0;
        for (const auto at : verbs) all += a.store->count(at);
        return all;
      };
      const auto script = [&] {
        for (const auto at : verbs) a.store->next(at, {.what = fate});
      };
      const auto before = sent();
      script();
      const auto refused = thrown([&] { return a.locks.try_acquire(key); });
      CHECK((refused == errc::outcome_unknown) == (sent() != before));
      a.store->forget_scripts();
      a.store->run_ghosts();
      CHECK(eventually([&] { return is_free(key); }));

      script();
      a.store->next(verb::poll, {.what = fate});
      auto held = a.locks.acquire(key, {.wait = 20s});
      a.store->forget_scripts();
      a.store->run_ghosts();
      CHECK_FALSE(is_free(key));
      held.release();
      CHECK(is_free(key));
    }
  }
  const auto nonces = a.store->nonces();
  CHECK(std::set<std::uint64_t>(nonces.begin(), nonces.end()).size() == nonces.size());
}

TEST_CASE_METHOD(service_fixture, "lease: a release without an answer is repeated, and a late one frees nobody's key",
                 "[T07][T08]") {
  for (const auto fate : {fate::drop, fate::ghost, fate::vanish}) {
    auto held = a.locks.acquire("k");
    a.store->next(verb::release, {.what = fate});
    CHECK_NOTHROW(held.release());
    const auto theirs = b.locks.try_acquire("k");
    REQUIRE(theirs);
    a.store->run_ghosts();
    CHECK_FALSE(granted(a.locks.try_acquire("k")));
  }
}

TEST_CASE_METHOD(service_fixture, "lease: operators see who holds what, until it has ended", "[T22]") {
  auto held = a.locks.acquire("k", {.ttl = 60s});
  CHECK_FALSE(a.locks.holder("nobody's"));
  const auto row = b.locks.holder("k");
  REQUIRE(row);
  CHECK(row->key == "k");
  CHECK(row->fence == fence_of(held));
  if (!fixture->hides_holders()) {
    CHECK(row->session);
    CHECK((row->kind == lease_kind::session) == can.session_leases);
    CHECK(row->remaining > 30s);
    CHECK(held.remaining() <= row->remaining);
    if (!fixture->keeps_by_itself()) CHECK(row->remaining <= 60s + fixture->rounding());
  }
  lease brief;
  if (can.expiring_leases) {
    brief = b.locks.acquire("brief", {.ttl = 10s, .renewal = renewal::none});
  } else {
    brief = a.locks.acquire("brief");
  }
  const auto all = a.locks.held_keys();
  REQUIRE(all.size() == 2);
  CHECK(all[0].key == "brief");
  CHECK(all[1].key == "k");
  if (can.expiring_leases) {
    CHECK(all[0].kind == lease_kind::expiring);
    CHECK(brief.remaining() <= all[0].remaining);
  }
  CHECK(a.locks.held_keys(1).size() == 1);
  CHECK(a.locks.held_keys(10, "brief").size() == 1);
  held.release();
  CHECK_FALSE(b.locks.holder("k"));
}

TEST_CASE_METHOD(service_fixture, "lease: a closed service takes back what is held, and its holders are told",
                 "[T90]") {
  const auto kept = a.locks.acquire("kept", {.ttl = 60s});
  std::vector<std::string> names{"kept"};
  lease own;
  if (can.expiring_leases) {
    own = a.locks.acquire("own", {.ttl = 60s, .renewal = renewal::none});
    names.push_back("own");
  }
  auto keys = a.locks.close(0ms, release_all);
  std::sort(keys.begin(), keys.end());
  CHECK(keys == names);
  CHECK(kept.loss() == loss_reason::closed);
  if (can.expiring_leases) CHECK(own.lost_token().stop_requested());
  // Long before it would expire.
  for (const auto& key : names) CHECK(eventually([&] { return is_free(lock_key(key)); }));
}

TEST_CASE_METHOD(service_fixture, "lease: one that outlives its service is renewed, and nothing else stays behind",
                 "[T17][T90]") {
  CHECK(at_some_pace([&](int slower) {
    const lock_key key("k" + std::to_string(slower));
    auto brief = std::make_unique<process>(*fixture);
    const auto asked = now();
    auto held = brief->locks.acquire(key, {.ttl = slower * 1s, .wait = 60s});
    brief->locks.acquire("gone").release();
    const auto seen_by = brief->store;
    brief.reset();
    pass(slower * 1500ms);
    if (!still_held(held, key, asked, slower * 1s)) return false;
    held.release();
    return eventually([&] { return seen_by->connections() == 0; }) && a.locks.held_keys().empty() && is_free(key);
  }));
}

TEST_CASE_METHOD(service_fixture, "lease: max_hold ends a held one", "[T10][T20]") {
  auto wedged = a.locks.acquire("k", {.ttl = 10s, .max_hold = 200ms});
  const auto next = b.locks.acquire("k", {.wait = 20s});
  CHECK(follows(fence_of(next), fence_of(wedged)));
  CHECK(wedged.remaining() == 0us);
  CHECK(wedged.loss() == loss_reason::max_hold);
}

// What a lock_service does with several keys at once on every store. The services here are straight on the store, so
// that its own batches run.

struct multi_service_fixture {
  std::unique_ptr<store_fixture> fixture = make_store_fixture();
  const capabilities can = fixture->open()->caps();
  service_options options{.release_limit = 5s, .close_limit = 0ms, .cleanup_interval = 0ms, .time = &fixture->time()};
  lock_service a{fixture->open(), options};
  lock_service b{fixture->open(), options};

  std::uint64_t fence_of(const lease& held) const { return can.fence ? held.fencing_token() : 0; }
  /// Whether it may be the token of the grant so many after the first.
  bool is_fence(const lease& held, std::uint64_t grants) const {
    if (!can.fence) return true;
    return can.consecutive_fences ? held.fencing_token() == grants : held.fencing_token() >= grants;
  }
  bool is_free(const lock_key& key) {
    const owner_scope foreign;
    return granted(b.try_acquire(key));
  }
};

TEST_CASE_METHOD(multi_service_fixture, "several keys: new, known and held ones are taken together, and all released",
                 "[T76][T77]") {
  b.acquire("known").release();
  b.acquire("also known").release();
  const auto outer = a.acquire("mine");
  {
    auto held = a.acquire_all({"new", "known", "mine", "also known", "new"});
    REQUIRE(held.size() == 4);
    CHECK(is_fence(held["known"], 2));
    CHECK(is_fence(held["also known"], 2));
    CHECK(is_fence(held["new"], 1));
    CHECK(held["mine"].reentered());
    for (const auto& each : held) CHECK_FALSE(is_free(lock_key(each.key())));
    for (const auto& each : held) {
      const auto row = b.holder(lock_key(each.key()));
      REQUIRE(row);
      CHECK(row->fence == fence_of(each));
    }
    held.release();
  }
  CHECK(is_free("new"));
  CHECK(is_free("known"));
  CHECK(is_free("also known"));
  CHECK_FALSE(is_free("mine"));
}

TEST_CASE_METHOD(multi_service_fixture, "several keys: one that is busy keeps all from being taken", "[T76]") {
  for (const auto* key : {"a", "b", "c", "d"}) b.acquire(key).release();
  auto theirs = b.acquire("c");
  CHECK_FALSE(granted(a.try_acquire_all({"d", "c", "b", "a"})));
  std::string text;
  try {
    static_cast<void>(a.acquire_all({"a", "c"}, {.wait = 50ms}));
  } catch (const lock_timeout& e) {
    text = e.what();
  }
  CHECK(text.starts_with("dlock: key 'c': still busy after "));
  if (can.session_leases && !fixture->hides_holders()) CHECK(text.find("held by") != std::string::npos);
  for (const auto* key : {"a", "b", "d"}) CHECK(is_free(key));
  CHECK_NOTHROW(theirs.ensure_held());
  multi_lease held;
  const auto before = a.statements();
  std::thread waiter([&] { held = a.acquire_all({"a", "b", "c", "d"}, {.wait = 20s}); });
  CHECK(eventually([&] { return a.statements() >= before + 4; }));
  // It waits without the others. They are not tried here: it would find them busy, and is told to try again itself.
  CHECK(eventually([&] { return !b.holder("a") && !b.holder("b") && !b.holder("d"); }));
  theirs.release();
  waiter.join();
  CHECK(held.size() == 4);
  CHECK_FALSE(is_free("a"));
}

TEST_CASE_METHOD(multi_service_fixture, "several keys: threads of two processes with random sets, never two on a key",
                 "[T76][T48]") {
  constexpr std::size_t keys = 5;
  struct counter {
    std::atomic<int> inside{0};
    std::uint64_t last = 0;  // guarded by the lock alone
  };
  std::array<counter, keys> data;
  std::atomic<int> wrong{0};
  std::atomic<int> failed{0};
  on_threads(6, [&](int t) {
    std::mt19937 random(static_cast<unsigned>(t));
    for (int i = 0; i < 10; ++i) {
      std::array<std::size_t, keys> order{0, 1, 2, 3, 4};
      std::shuffle(order.begin(), order.end(), random);
      std::vector<std::string> names;
      for (std::size_t k = 0; k <= random() % keys; ++k) names.push_back("k" + std::to_string(order[k]));
      try {
        const auto held =
            (t % 2 == 0 ? a : b).acquire_all(names, {.wait = 60s, .retry = {.pause = 1ms, .max_pause = 5ms}});
        for (const auto& each : held) {
          auto& counter = data[static_cast<std::size_t>(each.key().back() - '0')];
          if (++counter.inside != 1 || (can.fence && fence_of(each) <= counter.last)) ++wrong;
          counter.last = fence_of(each);
        }
        for (const auto& each : held) --data[static_cast<std::size_t>(each.key().back() - '0')].inside;
      } catch (const error&) {
        ++failed;
      }
    }
  });
  CHECK(wrong == 0);
  CHECK(failed == 0);
  CHECK(a.held_keys().empty());
}

}  // namespace dlock::test
