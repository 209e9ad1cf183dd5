// SPDX-License-Identifier: BSL-1.0

/// What wakes callers that wait for members of a key, and members that wait. Of stores with capabilities::shares and
/// waiting::woken.

#include <latch>

#include "contract/store/waiting_store.hpp"
#include "dlock/store_interface/closing_bell.hpp"

namespace dlock::test {

namespace {

request member(actor& by, verb action, std::uint32_t permits, bool wake = false) {
  auto asked = by.about(action, "k");
  asked.units = 1;
  asked.permits = permits;
  asked.nonce = by.nonce;
  asked.wake = wake;
  return asked;
}

reply join(actor& by, std::uint32_t permits, bool waited = false) {
  ++by.nonce;
  auto asked = member(by, verb::take, permits, waited);
  const reply got = by.run(asked);
  if (got.result != outcome::no) return got;
  const reply shown = by.poll("k");
  asked.action = shown.result == outcome::absent ? verb::insert : verb::take;
  asked.polled = true;
  asked.expected = shown.result == outcome::absent ? nullptr : &shown.holder;
  return by.run(asked);
}

reply leave(actor& by) { return by.run(member(by, verb::release, 0)); }

/// Joins and leaves until a leave has woken a waiter: between two sleeps a waiter is not to be woken.
bool wakes_by_leaving(actor& by, std::uint32_t permits = 1) {
  return eventually([&] {
    const reply freed = leave(by);
    const bool woke = answer(freed) == outcome::yes && freed.waiters == 1;
    CHECK(answer(join(by, permits)) == outcome::yes);
    return woke;
  });
}

/// Counts how often the store has woken it.
struct woken_listener final : key_listener {
  void may_be_free(bool works) noexcept override { works_ = works; }
  void was_rung() noexcept override { ++rung; }
  bool works() {
    return eventually([&] { return works_.load(); });
  }
  std::atomic<int> rung{0};

 private:
  std::atomic<bool> works_{false};
};

struct woken_store {
  explicit woken_store(store_fixture& at) : store(at.open()) { store->watch("k", id128::random(), listener); }
  ~woken_store() { store->unwatch("k", {}, listener); }
  /// Whether `call` wakes it, at the first try or a later one: between two sleeps it is not to be woken.
  template <class Call>
  bool is_woken_by(const Call& call) {
    REQUIRE(listener.works());
    return eventually([&] {
      const int before = listener.rung;
      call();
      return eventually([&] { return listener.rung > before; }, 200ms);
    });
  }
  const std::shared_ptr<dlock::store> store;
  woken_listener listener{};
};

/// Services that do not look at the key again of their own accord for long enough.
struct patient_services : any_store {
  lock_service holder{fixture->url(), patient()};
  lock_service one{fixture->url(), patient()};
  lock_service two{fixture->url(), patient()};

  /// A wait, registered with the store, that has done the first of the checks by which it would find a lost wake-up.
  /// The next one comes more than a second later, and that of a caller that has closed the key about a second.
  void settle(std::size_t waiters) {
    REQUIRE(eventually([&] { return holder.waiters("k").count == waiters; }));
    fixture->pass(550ms);
  }
  /// Whether `done` becomes true so soon that a wake-up was the reason.
  template <class Done>
  static bool at_once(const Done& done) {
    return eventually(done, 300ms);
  }
  /// A machine that is busy may be slow once.
  template <class Round>
  static bool once_of_some(const Round& round) {
    for (int i = 0; i != 6; ++i) {
      if (round()) return true;
    }
    return false;
  }
};

bool is_ready(const std::future<bool>& waits) { return waits.wait_for(0s) == std::future_status::ready; }

}  // namespace

TEST_CASE_METHOD(one_actor, "share wake: a member that leaves wakes a waiter of another process") {
  REQUIRE(answer(join(a, 1)) == outcome::yes);
  waiting_store waiter(*fixture);
  REQUIRE(waiter.works());
  for (int i = 0; i != 5; ++i) {
    const int before = waiter.listener.yes;
    // Who is woken before it sleeps again looks whether there is room, and at that moment there may be none.
    CHECK(eventually([&] {
      REQUIRE(wakes_by_leaving(a));
      return eventually([&] { return waiter.listener.yes > before; }, 200ms);
    }));
  }
}

TEST_CASE_METHOD(one_actor, "share wake: where nobody waits, a member comes and goes by one statement each") {
  REQUIRE(answer(join(a, 0)) == outcome::yes);
  CHECK(leave(a).statements == 1);
  {
    waiting_store waiter(*fixture), elsewhere(*fixture, "other");
    REQUIRE(waiter.works());
    REQUIRE(elsewhere.works());
    REQUIRE(answer(join(a, 0)) == outcome::yes);
    CHECK(leave(a).statements > 1);
  }
  const auto pair = [&] { return join(a, 0).statements + leave(a).statements; };
  CHECK(eventually([&] { return pair() == 2; }));
  CHECK(pair() == 2);
}

TEST_CASE_METHOD(one_actor,
                 "share wake: a permit that comes back wakes a waiter by two statements, as a release does") {
  REQUIRE(answer(join(a, 1)) == outcome::yes);
  waiting_store waiter(*fixture);
  REQUIRE(waiter.works());
  REQUIRE(wakes_by_leaving(a));
  CHECK(eventually([&] {
    std::this_thread::sleep_for(50ms);  // it sleeps again
    const reply freed = leave(a);
    CHECK(answer(join(a, 1)) == outcome::yes);
    return freed.waiters == 1 && freed.statements <= 2;
  }));
}

TEST_CASE_METHOD(two_actors, "share wake: who has woken a waiter of an open key wakes none of a closed one too early") {
  REQUIRE(answer(join(a, 0)) == outcome::yes);
  REQUIRE(answer(join(b, 0)) == outcome::yes);
  waiting_store reader(*fixture);
  REQUIRE(reader.works());
  REQUIRE(wakes_by_leaving(a, 0));
  REQUIRE(wakes_by_leaving(b, 0));
  REQUIRE(answer(b.run(b.about(verb::close, "k"))) == outcome::yes);
  const closing_bell bell("k");
  waiting_store writer(*fixture, std::string(bell.view()));
  REQUIRE(writer.works());
  const int before = writer.listener.yes;
  CHECK(leave(a).waiters == 0);
  CHECK(leave(b).waiters == 1);
  CHECK(eventually([&] { return writer.listener.yes > before; }));
}

TEST_CASE_METHOD(any_store, "share wake: the first exclusive lock after readers takes four statements more") {
  lock_service locks(fixture->url(), patient());
  const auto pair = [&] {
    const auto before = locks.statements();
    locks.acquire("k").release();
    return locks.statements() - before;
  };
  pair();
  REQUIRE(pair() == 2);
  locks.acquire("k", {.mode = shared}).release();
  CHECK(pair() == 6);
  CHECK(pair() == 2);
}

TEST_CASE_METHOD(two_actors, "share wake: of a closed key only the last member's leave wakes, and whom it concerns") {
  REQUIRE(answer(join(a, 0)) == outcome::yes);
  REQUIRE(answer(join(b, 0)) == outcome::yes);
  REQUIRE(answer(b.run(b.about(verb::close, "k"))) == outcome::yes);
  waiting_store reader(*fixture);
  REQUIRE(reader.works());
  waiting_store writer(*fixture);
  counting_listener last;
  const closing_bell bell("k");
  writer.store->watch(bell.view(), id128::random(), last);
  REQUIRE(writer.works());
  REQUIRE(eventually([&] { return last.yes > 0; }));
  CHECK(leave(a).waiters == 0);
  CHECK(leave(b).waiters == 1);
  writer.store->unwatch(bell.view(), {}, last);
}

TEST_CASE_METHOD(one_actor, "share wake: a key that is opened wakes a waiter") {
  REQUIRE(answer(join(a, 0)) == outcome::yes);
  woken_store waiter(*fixture);
  CHECK(waiter.is_woken_by([&] {
    CHECK(answer(a.run(a.about(verb::close, "k"))) == outcome::yes);
    CHECK(answer(a.run(a.about(verb::open, "k"))) == outcome::yes);
  }));
}

TEST_CASE_METHOD(one_actor, "share wake: a caller that has waited, and becomes a member, wakes the next one") {
  REQUIRE(answer(join(a, 0)) == outcome::yes);
  woken_store waiter(*fixture);
  CHECK(waiter.is_woken_by([&] { CHECK(answer(join(a, 0, true)) == outcome::yes); }));
}

TEST_CASE_METHOD(patient_services, "share wake: a permit is handed to a service that would poll again in an hour") {
  CHECK(once_of_some([&] {
    auto held = holder.acquire("k", {.mode = one_of(1)});
    auto waits = std::async(std::launch::async, [&] { return granted(one.acquire("k", {.mode = one_of(1)})); });
    settle(1);
    held.release();
    const bool woken = at_once([&] { return is_ready(waits); });
    CHECK(waits.get());
    return woken;
  }));
}

TEST_CASE_METHOD(patient_services, "share wake: a waiter that needs more than there is lets the next one have it") {
  CHECK(once_of_some([&] {
    auto small = holder.acquire("k", {.mode = one_of(3)});
    const auto large = holder.acquire("k", {.reentry = reentry::busy, .mode = one_of(3, 2)});
    std::stop_source enough;
    auto waits_for_all = std::async(std::launch::async, [&] {
      return thrown([&] { return one.acquire("k", {.cancel = enough.get_token(), .mode = one_of(3, 3)}); }) ==
             errc::cancelled;
    });
    REQUIRE(eventually([&] { return holder.waiters("k").count == 1; }));
    auto waits = std::async(std::launch::async, [&] { return granted(two.acquire("k", {.mode = one_of(3)})); });
    settle(2);
    small.release();
    const bool woken = at_once([&] { return is_ready(waits); });
    CHECK(waits.get());
    enough.request_stop();
    CHECK(waits_for_all.get());
    return woken;
  }));
}

TEST_CASE_METHOD(patient_services, "share wake: a writer is woken by the last reader of several services") {
  CHECK(once_of_some([&] {
    auto first = holder.acquire("k", {.mode = shared});
    auto second = one.acquire("k", {.mode = shared});
    auto waits = std::async(std::launch::async, [&] { return granted(two.acquire("k")); });
    settle(1);
    first.release();
    second.release();
    const bool woken = at_once([&] { return is_ready(waits); });
    CHECK(waits.get());
    return woken;
  }));
}

TEST_CASE_METHOD(patient_services, "share wake: the release of a writer wakes the readers of all services") {
  lock_service three(fixture->url(), patient());
  CHECK(once_of_some([&] {
    auto writing = holder.acquire("k");
    std::latch all_inside(3);
    std::vector<std::future<bool>> waits;
    for (auto* const each : {&one, &two, &three}) {
      waits.push_back(std::async(std::launch::async, [&all_inside, each] {
        const auto held = each->acquire("k", {.mode = shared});
        all_inside.arrive_and_wait();
        return granted(held);
      }));
    }
    settle(3);
    writing.release();
    const bool woken = at_once([&] { return std::all_of(waits.begin(), waits.end(), is_ready); });
    for (auto& each : waits) CHECK(each.get());
    return woken;
  }));
}

TEST_CASE_METHOD(patient_services, "share wake: a writer that gives up wakes the readers that it kept out") {
  CHECK(once_of_some([&] {
    const auto reading = holder.acquire("k", {.mode = shared});
    std::stop_source enough;
    auto writes = std::async(std::launch::async, [&] {
      return thrown([&] { return one.acquire("k", {.cancel = enough.get_token()}); }) == errc::cancelled;
    });
    REQUIRE(eventually([&] { return holder.waiters("k").count == 1; }));
    auto reads = std::async(std::launch::async, [&] { return granted(two.acquire("k", {.mode = shared})); });
    settle(2);
    CHECK_FALSE(is_ready(reads));
    enough.request_stop();
    const bool woken = at_once([&] { return is_ready(reads); });
    CHECK(writes.get());
    CHECK(reads.get());
    return woken;
  }));
}

}  // namespace dlock::test
