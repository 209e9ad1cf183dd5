// SPDX-License-Identifier: BSL-1.0

#include "engine/background/background_work.hpp"
#include "engine/background/grant_lifecycle.hpp"
#include "engine/background/session_keeper.hpp"
#include "engine/machines/session_machine.hpp"
#include "engine/operations/session_renewal.hpp"
#include "engine/registry/grant.hpp"
#include "unit/engine/executor_fixture.hpp"

using namespace dlock::test;
using namespace dlock;
using engine::margin_for;
using engine::session_keeper;
using engine::session_machine;
using engine::trust;
using verdict = session_machine::verdict;

namespace {

constexpr instant start{1'000s};

/// ttl 30 s, margin 1.5 s, opened at `start`: trusted until start + 28.5 s, due at start + 10 s.
session_machine thirty() { return {30s, 1500ms, start}; }

}  // namespace

TEST_CASE("session_machine: trust counts from before the opening was sent", "[T29]") {
  const auto m = thirty();
  CHECK(m.deadline() == start + 28500ms);
  CHECK(m.due() == start + 10s);
}

TEST_CASE("session_machine: a confirmed renewal moves both times on from its sending", "[T29]") {
  auto m = thirty();
  CHECK(m.renewed(outcome::yes, start + 10s, start + 25s) == verdict::live);
  CHECK(m.deadline() == start + 38500ms);
  CHECK(m.due() == start + 20s);
}

TEST_CASE("session_machine: without an answer nothing is gained and nothing lost", "[T13]") {
  const auto result = GENERATE(outcome::unknown, outcome::failed);
  auto m = thirty();
  CHECK(m.renewed(result, start + 10s, start + 12s) == verdict::late);
  CHECK(m.deadline() == start + 28500ms);
  CHECK(m.due() == start + 13s);  // soon again
  CHECK(m.at(start + 28499ms) == verdict::live);
  CHECK(m.renewed(outcome::yes, start + 13s, start + 13s) == verdict::live);
  CHECK(m.deadline() == start + 41500ms);
}

TEST_CASE("session_machine: tries again soon, but not at once", "[T32]") {
  const auto pause_of = [](microseconds ttl) {
    session_machine m(ttl, margin_for(ttl, 0us), start);
    m.renewed(outcome::failed, start, start);
    return m.due() - start;
  };
  CHECK(pause_of(100ms) == 20ms);
  CHECK(pause_of(1s) == 50ms);
  CHECK(pause_of(10s) == 500ms);
  CHECK(pause_of(1h) == 1s);
}

TEST_CASE("session_machine: a refusal ends it") {
  const auto result = GENERATE(outcome::no, outcome::absent);
  auto m = thirty();
  CHECK(m.renewed(result, start + 10s, start + 10s) == verdict::over);
  CHECK(m.at(start + 10s) == verdict::over);
  CHECK(m.renewed(outcome::yes, start + 11s, start + 11s) == verdict::over);
}

TEST_CASE("session_machine: at its deadline it is over, for ever") {
  auto m = thirty();
  CHECK(m.at(start + 28499999us) == verdict::live);
  CHECK(m.at(start + 28500ms) == verdict::over);
  CHECK(m.at(start) == verdict::over);
}

TEST_CASE("session_machine: a reply after the deadline revives nothing", "[T38]") {
  auto m = thirty();
  CHECK(m.renewed(outcome::yes, start + 10s, start + 28500ms) == verdict::over);
  CHECK(m.renewed(outcome::yes, start + 29s, start + 29s) == verdict::over);
}

TEST_CASE("session_machine: an old renewal never brings the deadline forward", "[T42]") {
  auto m = thirty();
  m.renewed(outcome::yes, start + 20s, start + 20s);
  m.renewed(outcome::yes, start + 10s, start + 21s);
  CHECK(m.deadline() == start + 48500ms);
}

TEST_CASE("margin_for: 50 ms or a twentieth, a quarter of what is shorter, unless set") {
  CHECK(margin_for(30s, 0us) == 1500ms);
  CHECK(margin_for(1s, 0us) == 50ms);
  CHECK(margin_for(100ms, 0us) == 25ms);
  CHECK(margin_for(10ms, 0us) == 2500us);
  CHECK(margin_for(30s, 200ms) == 200ms);
  CHECK(margin_for(100ms, 200ms) == 25ms);
}

TEST_CASE("trust: once somebody was told that it is over, it is") {
  trust t(start + 1s);
  CHECK(t.remaining(start) == 1s);
  CHECK(t.extend(start + 2s));
  CHECK(t.remaining(start + 1s) == 1s);
  CHECK(t.remaining(start + 2s) == 0us);
  CHECK_FALSE(t.extend(start + 5s));
  CHECK(t.remaining(start) == 0us);
  CHECK(trust(instant{5s}).remaining(instant{-1s}) == 6s);  // a machine that has just booted, seen by a clock behind it
}

TEST_CASE("trust: never moves back, and ends when told", "[T42]") {
  trust t(start + 2s);
  CHECK(t.extend(start + 1s));
  CHECK(t.remaining(start) == 2s);
  t.end();
  CHECK(t.remaining(start) == 0us);
  CHECK_FALSE(t.extend(start + 5s));
}

TEST_CASE("trust: without a deadline it lasts") {
  trust t;
  CHECK(t.remaining(start + 24h * 365 * 100) == microseconds::max());
  CHECK(t.remaining(instant{-10min}) == microseconds::max());
  CHECK(t.extend(start));
  CHECK(t.remaining(start) > 24h);
}

// The grants in the sessions' registry while one of the sessions ends.

namespace {

/// No other caller opens a session here, so none is woken.
class no_waiter final : public engine::opening_waiter {
 public:
  void wake() noexcept override {}
};

/// The task that renews a session, as its keeper sees it.
class fake_renewal final : public engine::upkeep {
 public:
  explicit fake_renewal(std::function<void()> begins) : begins_(std::move(begins)) {}
  void begin(std::shared_ptr<engine::grant>) noexcept override { begins_(); }
  void stop() noexcept override {}

 private:
  const std::function<void()> begins_;
};

class keeper_fixture : public executor_fixture {
 protected:
  std::shared_ptr<engine::grant> held(const std::string& key, lease_kind kind) {
    auto grant = std::make_shared<engine::grant>(nullptr, lock_key(key));
    grant->kind = kind;
    engine::session_opening open;
    no_waiter nobody;
    grant->pin = keeper.pin(30s, clock.now(), open, nobody);
    if (open) {
      sent_statement asked;
      ask(open, asked);
      fault why;
      grant->pin = open.answered(asked, why);
    }
    REQUIRE(grant->pin);
    REQUIRE(keeper.link(*grant));
    return grant;
  }
  void ask(const engine::session_opening& open, sent_statement& asked) {
    open.ask(asked);
    asked.queue_deadline = clock.now() + 2s;
    at->run(asked);
  }
  /// The store has answered the opening of a session of 30 s, and the keeper has not got the answer.
  void begin_opening(engine::session_opening& open, sent_statement& asked) {
    no_waiter nobody;
    static_cast<void>(keeper.pin(30s, clock.now(), open, nobody));
    REQUIRE(open);
    ask(open, asked);
  }
  std::vector<std::string> registry() {
    std::vector<std::string> found;
    keeper.for_each_grant([&](const engine::grant& each) { found.emplace_back(each.key.view()); });
    return found;
  }

  engine::service_context shared{service_options{.time = &clock}};
  run_executor at{store, clock, 2};
  engine::notifier news{shared, [] {}, [] { return nullptr; }, [] {}};
  std::function<void()> at_loss{};  // called for each grant that is lost
  std::function<void(const std::shared_ptr<engine::session>&)> at_renewal = [](const auto&) {};  // when it begins
  bool has_memory = true;
  session_keeper keeper{shared,
                        *at,
                        news,
                        {.lost = [this](const auto&, auto, auto) { at_loss(); },
                         .over = [](const auto&, const auto&, auto, auto) {},
                         .renewal_of =
                             [this](const auto& session) {
                               if (!has_memory) throw std::bad_alloc();
                               return std::make_shared<fake_renewal>([this, session] { at_renewal(session); });
                             },
                         .sooner = [](auto) {}}};
};

}  // namespace

TEST_CASE_METHOD(keeper_fixture,
                 "session_keeper: while a session's losses are told, its leases with an expiry of their own are in the "
                 "registry, and can end") {
  const auto stays = held("stays", lease_kind::expiring);
  auto ends = held("ends", lease_kind::expiring);
  const auto lost = held("lost", lease_kind::session);
  std::vector<std::string> while_notified;
  at_loss = [&] {
    while_notified = registry();
    keeper.unlink(*ends);
    ends.reset();
  };
  keeper.retire(lost->pin.get(), loss_reason::expired, clock.now());
  CHECK(while_notified == std::vector<std::string>{"stays", "ends"});
  CHECK(registry() == std::vector<std::string>{"stays"});
  keeper.unlink(*stays);
  CHECK(registry().empty());
}

TEST_CASE_METHOD(keeper_fixture,
                 "session_keeper: one that another thread opens while a loss is told is used, and stays") {
  const auto before = held("before", lease_kind::session);
  clock.advance(31s);
  std::shared_ptr<engine::grant> meanwhile;
  at_loss = [&] { meanwhile = held("meanwhile", lease_kind::session); };
  engine::session_opening open;
  no_waiter nobody;
  const auto pin = keeper.pin(30s, clock.now(), open, nobody);
  CHECK_FALSE(open);
  REQUIRE(pin);
  REQUIRE(meanwhile);
  CHECK(pin->id == meanwhile->pin->id);
  CHECK(registry() == std::vector<std::string>{"meanwhile"});
}

TEST_CASE_METHOD(keeper_fixture, "session_keeper: one that was opened while the server changed is not used", "[T59]") {
  keeper.connected({.server = "a"}, clock.now());
  engine::session_opening open;
  sent_statement asked;
  begin_opening(open, asked);
  REQUIRE(asked.answer.result == outcome::yes);
  keeper.connected({.server = "a"}, clock.now());
  CHECK_FALSE(open.elsewhere());
  keeper.connected({.server = "b"}, clock.now());
  bool renewed = true;
  at_renewal = [&](const auto& session) { renewed = keeper.due(*session) != instant{}; };
  fault why;
  CHECK_FALSE(open.answered(asked, why));
  CHECK_FALSE(renewed);  // its task ends at once
  CHECK(why.transient);
  CHECK(open.elsewhere());
}

TEST_CASE_METHOD(keeper_fixture, "session_keeper: a session is in the list before its renewal begins") {
  std::vector<id128> listed;
  at_renewal = [&](const auto& session) {
    CHECK(keeper.id_of(30s) == session->id);
    listed.push_back(session->id);
  };
  const auto held = this->held("k", lease_kind::session);
  CHECK(listed == std::vector{held->pin->id});
}

TEST_CASE_METHOD(keeper_fixture,
                 "session_keeper: one that its renewal finds over as it begins leaves the list, and the next one is "
                 "opened") {
  at_renewal = [&](const auto& session) {
    engine::statement renewal;
    CHECK_FALSE(keeper.begin_renewal(session, renewal, clock.now() + 31s));
  };
  {
    engine::session_opening open;
    sent_statement asked;
    begin_opening(open, asked);
    fault why;
    auto grant = std::make_shared<engine::grant>(nullptr, lock_key("k"));
    grant->pin = open.answered(asked, why);
    REQUIRE(grant->pin);
    CHECK_FALSE(keeper.link(*grant));
  }
  CHECK(keeper.id_of(30s) == id128{});
  CHECK(keeper.tick(clock.now()) == instant::max());
  at_renewal = [](const auto&) {};
  held("next", lease_kind::session);
}

TEST_CASE_METHOD(keeper_fixture, "session_keeper: without memory for its renewal a session is not asked for") {
  has_memory = false;
  {
    engine::session_opening open;
    no_waiter nobody;
    CHECK_THROWS_AS(keeper.pin(30s, clock.now(), open, nobody), std::bad_alloc);
    CHECK_FALSE(open);
  }
  has_memory = true;
  held("next", lease_kind::session);  // no caller is taken for one that still opens it
}

// Leases that their own expiry keeps.

namespace {

class lease_fixture : public keeper_fixture {
 protected:
  /// A lease of 30 s that the store has just granted.
  std::shared_ptr<engine::grant> leased(const std::string& key) {
    auto grant = held(key, lease_kind::column);
    keeper.unlink(*grant);  // as admit() enters it
    grant->owner = std::make_shared<engine::owner_state>();
    grant->ttl = 30s;
    grant->granted_at = clock.now();
    grants.make_room(*grant, false);
    grant->deadline->own_end.reset(clock.now() + 28500ms);
    REQUIRE(grants.admit(grant, clock.now()));
    return grant;
  }
  void release(const std::shared_ptr<engine::grant>& held) {
    bool trusted = false;
    REQUIRE(table.leave(*held, false) == engine::held_locks::leave_result::last);
    REQUIRE(grants.begin_release(*held, trusted, clock.now()));
    CHECK(grants.end_release(held, engine::release_result::freed, trusted, {}, clock.now(), true) ==
          engine::release_result::freed);
  }

  class renewal final : public engine::upkeep {
   public:
    explicit renewal(lease_fixture& counts) : counts_(counts) {}
    void begin(std::shared_ptr<engine::grant>) noexcept override { ++counts_.begun; }
    void stop() noexcept override { ++counts_.stopped; }

   private:
    lease_fixture& counts_;
  };

  int made = 0, begun = 0, stopped = 0;
  engine::held_locks table;
  engine::background_work background{shared,
                                     *at,
                                     keeper,
                                     news,
                                     {.answered = [](const auto&, const auto&, auto) {},
                                      .released = [](const auto&, auto, const auto&, auto) {},
                                      .fewer = [] {},
                                      .sooner = [](auto) {},
                                      .drained = [] {}}};
  engine::grant_lifecycle grants{shared,
                                 table,
                                 keeper,
                                 background,
                                 news,
                                 [] {},
                                 [](auto) {},
                                 [this](engine::grant&) {
                                   if (!has_memory) throw std::bad_alloc();
                                   ++made;
                                   return std::make_shared<renewal>(*this);
                                 },
                                 [] {}};
};

}  // namespace

TEST_CASE_METHOD(lease_fixture, "grant_lifecycle: a lease that ends before its first renewal has no task for it") {
  const auto lease = leased("k");
  CHECK(grants.tick(clock.now()) == clock.now() + 10s);
  clock.advance(9s);
  grants.tick(clock.now());
  release(lease);
  clock.advance(1s);
  CHECK(grants.tick(clock.now()) == instant::max());
  CHECK(made == 0);
}

TEST_CASE_METHOD(lease_fixture,
                 "grant_lifecycle: the renewal begins when it is due, once, and is told of the release") {
  const auto lease = leased("k");
  clock.advance(10s);
  CHECK(grants.tick(clock.now()) == clock.now() + 18500ms);  // the end of trust
  CHECK(begun == 1);
  REQUIRE(lease->deadline->own_end.extend(clock.now() + 28500ms));  // as it does
  clock.advance(20s);
  CHECK(grants.tick(clock.now()) == clock.now() + 8500ms);
  CHECK(made == 1);
  CHECK(stopped == 0);
  release(lease);
  CHECK(stopped == 1);
}

TEST_CASE_METHOD(lease_fixture, "grant_lifecycle: a renewal for which there is no memory is tried again") {
  const auto lease = leased("k");
  has_memory = false;
  clock.advance(10s);
  CHECK(grants.tick(clock.now()) == clock.now() + 2500ms);
  CHECK(shared.count(event::kind::renewal_late) == 1);
  has_memory = true;
  clock.advance(2500ms);
  grants.tick(clock.now());
  CHECK(begun == 1);
  release(lease);
}

// What renews them, as coroutines that are resumed by hand.

namespace {

struct no_waker final : engine::waker {
  void wake() noexcept override { ++woken; }
  int woken = 0;
};

}  // namespace

TEST_CASE_METHOD(keeper_fixture, "renew_session: a renewal each third of the ttl, until the session is over") {
  const auto held = this->held("k", lease_kind::session);
  const auto session = held->pin.get();
  const auto begun = clock.now();
  no_waker woken;
  engine::coroutine_operation<void> op({}, woken, engine::renew_session, keeper, session);
  auto next = op.start(clock.now());
  REQUIRE(next.what == engine::action::kind::wait);
  CHECK(next.until == begun + 10s);
  clock.advance(10s);
  next = op.resume(clock.now());
  REQUIRE(next.what == engine::action::kind::send);
  REQUIRE(next.statements.size() == 1);
  auto& renewal = *next.statements.front();
  CHECK(renewal.priority == engine::priority::renewals);
  CHECK(renewal.record.id == session->id);
  at->run(renewal);
  next = op.resume(clock.now());
  REQUIRE(next.what == engine::action::kind::wait);
  CHECK(next.until == renewal.sent_at + 10s);
  CHECK(session->deadline.remaining(clock.now()) == 28500ms);

  keeper.renew_all(clock.now());
  CHECK(woken.woken == 1);
  next = op.resume(clock.now());
  REQUIRE(next.what == engine::action::kind::send);
  keeper.renew_all(clock.now());  // that one may have come too early
  at->run(*next.statements.front());
  next = op.resume(clock.now());
  REQUIRE(next.what == engine::action::kind::send);
  at->run(*next.statements.front());
  next = op.resume(clock.now());
  REQUIRE(next.what == engine::action::kind::wait);

  woken.woken = 0;
  at_loss = [] {};
  keeper.retire(session, loss_reason::expired, clock.now());
  CHECK(woken.woken == 1);
  CHECK(op.resume(clock.now()).what == engine::action::kind::finished);
  keeper.renew_all(clock.now());
  CHECK(woken.woken == 1);  // it is not reached any more
}

TEST_CASE_METHOD(keeper_fixture, "renew_session: a refusal ends the session") {
  const auto held = this->held("k", lease_kind::session);
  int lost = 0;
  at_loss = [&] { ++lost; };
  no_waker woken;
  engine::coroutine_operation<void> op({}, woken, engine::renew_session, keeper, held->pin.get());
  op.start(clock.now());
  clock.advance(10s);
  auto& renewal = *op.resume(clock.now()).statements.front();
  renewal.sent = true;
  renewal.sent_at = renewal.answered_at = clock.now();
  renewal.answer.result = outcome::no;
  CHECK(op.resume(clock.now()).what == engine::action::kind::finished);
  CHECK(lost == 1);
  CHECK(held->why(clock.now()) == loss_reason::renewal_refused);
}
