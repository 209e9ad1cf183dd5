// SPDX-License-Identifier: BSL-1.0
// What was measured on real servers (docs/measurements.md), and what a rule rests on: the simulated server does
// the same. Here nothing is simulated around it, statements arrive one by one.
#include "simulation/server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <memory>

namespace {

using namespace dlock;
using namespace dlock::simulation;
using namespace std::chrono_literals;

id128 session_named(unsigned char name) {
  id128 made;
  made.bytes[0] = name;
  return made;
}

struct server_fixture {
  plan how{};
  world in{1};
  server at{in, how};
  const id128 a = session_named(1);
  const id128 b = session_named(2);

  server_fixture() {
    open(a, 1s);
    open(b, 1h);
  }
  void pass(moment time) {
    const auto end = in.now() + time;
    in.at(end, [] {});
    in.run([] { return false; }, end);
  }
  outcome session(session_verb what, const id128& id, microseconds ttl, moment clock) {
    return at.data.run(what, {.id = id, .ttl = ttl}, clock).result;
  }
  void open(const id128& id, microseconds ttl) {
    REQUIRE(session(session_verb::open, id, ttl, in.now()) == outcome::yes);
  }
  reply run(request q, database::view by) {
    q.resource = "k";
    return at.data.run(q, by);
  }
  reply run(const request& q) { return run(q, {in.now(), nullptr}); }
  /// The first grant, kept by that session.
  std::uint64_t insert(const id128& by, std::uint64_t nonce) {
    const auto got = run({.action = verb::insert, .session = by, .nonce = nonce});
    REQUIRE(got.result == outcome::yes);
    return got.fence;
  }
  seen poll() { return run({.action = verb::poll}).holder; }
  /// A statement on a connection of its own; on its way until arrive().
  std::shared_ptr<job> sent(request q) {
    auto made = std::make_shared<job>();
    q.resource = "k";
    made->connection = at.connect();
    made->asks = {q};
    made->answers.resize(1);
    return made;
  }
  transaction verified_by(const id128& by, std::uint64_t fence) {
    transaction made;
    made.connection = at.connect();
    REQUIRE(at.verify(made, {.resource = "k", .session = by, .fence = fence}, [] {}) == outcome::yes);
    return made;
  }
  bool held_by(const id128& by) { return poll().holder == by; }
};

}  // namespace

TEST_CASE_METHOD(server_fixture, "simulated server: a take-over whose view is old steals only if it names nobody",
                 "[simulation]") {
  const auto fence = insert(a, 1);
  const auto dead = poll();
  session(session_verb::close, a, 0us, 0);
  const auto view_then = at.data.all_sessions();
  const auto born = session_named(3);
  open(born, 1h);
  REQUIRE(run({.action = verb::take_over, .session = born, .nonce = 1, .expected = &dead}).result == outcome::yes);
  const request late{.action = verb::take_over, .session = b, .nonce = 1, .expected = &dead};
  CHECK(run(late, {in.now(), &view_then}).result == outcome::no);
  CHECK(poll().fence == fence + 1);
  at.data.wrong = mistake::stale_view;
  CHECK(run(late, {in.now(), &view_then}).result == outcome::yes);
}

TEST_CASE_METHOD(server_fixture, "simulated server: a kill and a renewal exclude each other", "[simulation]") {
  SECTION("the renewal is first") {
    CHECK(session(session_verb::renew, a, 1s, second - 1) == outcome::yes);
    CHECK(session(session_verb::remove_expired, a, 0us, second + 1) == outcome::no);
  }
  SECTION("the kill is first") {
    CHECK(session(session_verb::remove_expired, a, 0us, second) == outcome::yes);
    CHECK(session(session_verb::renew, a, 1s, second - 1) == outcome::no);  // its clock stood still before the expiry
  }
}

TEST_CASE_METHOD(server_fixture, "simulated server: an acquire is granted though its own session has died",
                 "[simulation]") {
  insert(b, 1);
  run({.action = verb::cancel, .session = b, .nonce = 1});
  session(session_verb::close, a, 0us, 0);
  CHECK(run({.action = verb::take, .session = a, .nonce = 2}).result == outcome::yes);
  CHECK(poll().gone);
}

TEST_CASE_METHOD(server_fixture, "simulated server: the clock of a statement stands still while it waits",
                 "[simulation]") {
  const auto fence = insert(b, 1);
  how.take_waits = true;
  auto open_one = verified_by(b, fence);
  open_one.at_commit.push_back([&] { run({.action = verb::release, .session = b, .fence = fence}); });
  const auto waits = sent({.action = verb::take, .session = a, .nonce = 1, .kind = lease_kind::expiring, .ttl = 500ms});
  at.arrive(waits);
  pass(400'000);
  CHECK_FALSE(waits->done);
  REQUIRE(at.commit(open_one));
  pass(1'000);
  REQUIRE(waits->done);
  CHECK(waits->answers[0].result == outcome::yes);
  CHECK(poll().remaining < 150ms);  // it counts from the arrival
}

TEST_CASE_METHOD(server_fixture, "simulated server: the first insert of a key reads the floor", "[simulation]") {
  insert(b, 1);
  run({.action = verb::cancel, .session = b, .nonce = 1});
  pass(second);
  REQUIRE(at.data.cleanup(1, 20, in.now()) == 1);
  CHECK(insert(b, 2) == 2);
}

TEST_CASE_METHOD(server_fixture, "simulated server: a renewal at the same moment again counts", "[simulation]") {
  CHECK(session(session_verb::renew, b, 1h, 5) == outcome::yes);
  CHECK(session(session_verb::renew, b, 1h, 5) == outcome::yes);
}

TEST_CASE_METHOD(server_fixture, "simulated server: two renewals in the wrong order leave the later expiry",
                 "[simulation]") {
  CHECK(session(session_verb::renew, a, 1s, 900'000) == outcome::yes);
  CHECK(session(session_verb::renew, a, 1s, 100'000) == outcome::yes);
  CHECK(at.data.all_sessions().at(a).expires == 1'900'000);
}

TEST_CASE_METHOD(server_fixture,
                 "simulated server: a statement of a dead client runs when the row gets free, and not after a kill",
                 "[simulation]") {
  const auto fence = insert(b, 1);
  how.take_waits = true;
  auto open_one = verified_by(b, fence);
  open_one.at_commit.push_back([&] { run({.action = verb::release, .session = b, .fence = fence}); });
  const auto ghost = sent({.action = verb::take, .session = a, .nonce = 7});
  at.arrive(ghost);
  ghost->leave();
  at.vanished(ghost->connection);
  const bool killed = GENERATE(false, true);
  if (killed) at.kill(ghost->connection);
  REQUIRE(at.commit(open_one));
  pass(1'000);
  CHECK(held_by(a) == !killed);
}

TEST_CASE_METHOD(server_fixture, "simulated server: a stopped verifier keeps the row until its connection is ended",
                 "[simulation]") {
  const auto fence = insert(a, 1);
  const auto dead = poll();
  const auto open_one = verified_by(a, fence);
  pass(2 * second);
  REQUIRE(session(session_verb::remove_expired, a, 0us, in.now()) == outcome::yes);
  const request over{.action = verb::take_over, .session = b, .nonce = 1, .expected = &dead};
  const auto first = sent(over);
  at.arrive(first);
  REQUIRE(first->done);
  CHECK(first->answers[0].why.contended);
  REQUIRE(at.verifier_of("k") == open_one.connection);
  at.kill(open_one.connection);
  const auto second_try = sent(over);
  at.arrive(second_try);
  CHECK(second_try->answers[0].result == outcome::yes);
}

TEST_CASE_METHOD(server_fixture, "simulated server: a release waits for a row lock for a second, and is contended then",
                 "[simulation]") {
  const auto fence = insert(b, 1);
  const auto open_one = verified_by(b, fence);
  const auto at_once = sent({.action = verb::release, .session = b, .nonce = 1, .fence = fence});
  at.arrive(at_once);
  REQUIRE(at_once->done);
  CHECK(at_once->answers[0].why.contended);
  const auto waits =
      sent({.action = verb::release, .session = b, .nonce = 1, .fence = fence, .if_locked = row_wait::accept});
  at.arrive(waits);
  pass(second - 1);
  CHECK_FALSE(waits->done);
  pass(2);
  REQUIRE(waits->done);
  CHECK(waits->answers[0].why.contended);
  CHECK(held_by(b));
  CHECK(at.alive(open_one.connection));  // 1205 leaves that transaction as it is
}

TEST_CASE_METHOD(server_fixture, "simulated server: a restart forgets what was under way, and keeps what was committed",
                 "[simulation]") {
  const auto fence = insert(b, 1);
  const auto open_one = verified_by(b, fence);
  const auto before = at.incarnation();
  at.restart(1'000, false);
  CHECK(at.connect() == 0);
  pass(2'000);
  CHECK(at.connect() != 0);
  CHECK(at.incarnation() != before);
  CHECK(at.verifier_of("k") == 0);
  CHECK_FALSE(at.alive(open_one.connection));
  CHECK(held_by(b));
}

TEST_CASE_METHOD(server_fixture,
                 "simulated server: a loser waits for the row lock, who looks does not, nor do sessions",
                 "[simulation]") {
  const auto fence = insert(b, 1);
  how.take_waits = true;
  auto open_one = verified_by(b, fence);
  const auto loser = sent({.action = verb::take, .session = a, .nonce = 1});
  at.arrive(loser);
  CHECK_FALSE(loser->done);  // though b holds the key, whatever the transaction does
  const auto polls = sent({.action = verb::poll});
  at.arrive(polls);
  CHECK(polls->done);
  for (const auto verb : {session_verb::renew, session_verb::close}) {
    const auto of_session = sent({});
    of_session->what = job::kind::session;
    of_session->action = verb;
    of_session->record = {.id = b, .ttl = 1h};
    at.arrive(of_session);
    CHECK(of_session->done);
    CHECK(of_session->answers[0].result == outcome::yes);
  }
  REQUIRE(at.commit(open_one));
  pass(1'000);
  REQUIRE(loser->done);
  CHECK(loser->answers[0].result == outcome::no);
}

TEST_CASE_METHOD(server_fixture, "simulated server: a second transaction waits to verify until the first one has ended",
                 "[simulation]") {
  const auto fence = insert(b, 1);
  auto first = verified_by(b, fence);
  transaction second_one;
  second_one.connection = at.connect();
  const request grant{.resource = "k", .session = b, .nonce = 1, .fence = fence};
  bool may_go_on = false;
  CHECK_FALSE(at.verify(second_one, grant, [&] { may_go_on = true; }));
  pass(1'000);
  CHECK_FALSE(may_go_on);
  first.at_commit.push_back([&] { run({.action = verb::release, .session = b, .nonce = 1, .fence = fence}); });
  REQUIRE(at.commit(first));
  CHECK(may_go_on);
  CHECK(at.verify(second_one, grant, [] {}) == outcome::no);
}

TEST_CASE_METHOD(server_fixture, "simulated server: a transaction verifies the present row, however old it is itself",
                 "[simulation]") {
  transaction old;
  old.connection = at.connect();
  const auto fence = insert(a, 1);
  const auto dead = poll();
  session(session_verb::close, a, 0us, 0);
  REQUIRE(run({.action = verb::take_over, .session = b, .nonce = 1, .expected = &dead}).result == outcome::yes);
  CHECK(at.verify(old, {.resource = "k", .session = a, .nonce = 1, .fence = fence}, [] {}) == outcome::no);
}

TEST_CASE_METHOD(server_fixture, "simulated server: each grant of a batch has the fence of its own row",
                 "[simulation]") {
  for (const char* const key : {"k", "other"}) {
    REQUIRE(at.data.run(request{.action = verb::insert, .resource = key, .session = b, .nonce = 1}, {}).fence == 1);
    REQUIRE(at.data.run(request{.action = verb::cancel, .resource = key, .session = b, .nonce = 1}, {}).result ==
            outcome::yes);
  }
  REQUIRE(run({.action = verb::take, .session = b, .nonce = 2}).fence == 2);
  REQUIRE(run({.action = verb::cancel, .session = b, .nonce = 2}).result == outcome::yes);
  std::vector<reply> answers(2);
  at.data.run_batch({{.action = verb::take, .resource = "k", .session = a, .nonce = 3},
                     {.action = verb::take, .resource = "other", .session = a, .nonce = 4}},
                    {}, answers);
  CHECK(answers[0].fence == 3);
  CHECK(answers[1].fence == 2);
}

TEST_CASE_METHOD(server_fixture, "simulated server: clean-up passes over a row that a transaction has locked",
                 "[simulation]") {
  const auto fence = insert(a, 1);
  pass(second / 2);
  const auto open_one = verified_by(a, fence);
  pass(5 * second);
  CHECK(at.data.cleanup(1, 20, in.now()) == 0);
  CHECK(held_by(a));
  at.kill(open_one.connection);
  CHECK(at.data.cleanup(1, 20, in.now()) > 0);
}

TEST_CASE_METHOD(server_fixture, "simulated server: a first insert may fail by a deadlock, and a repeat makes the row",
                 "[simulation]") {
  how.hazards = static_cast<std::uint64_t>(hazard::contention);
  bool deadlock = false;
  for (std::uint64_t i = 1; i < 10'000 && !deadlock; ++i) {
    const auto name = "k" + std::to_string(i);
    const auto first = sent({.action = verb::insert, .session = a, .nonce = i});
    first->asks[0].resource = name;
    at.arrive(first);
    REQUIRE(first->done);
    deadlock = first->answers[0].result == outcome::failed;
    if (!deadlock) continue;
    CHECK(first->answers[0].why.transient);
    CHECK_FALSE(at.data.locks().contains(name));
    how.hazards = 0;
    const auto again = sent({.action = verb::insert, .session = a, .nonce = i});
    again->asks[0].resource = name;
    at.arrive(again);
    CHECK(again->answers[0].result == outcome::yes);
  }
  CHECK(deadlock);
}

TEST_CASE_METHOD(server_fixture, "simulated server: what a column shows as passed is what other programs may take",
                 "[simulation]") {
  auto& row = at.data.make_row("r", true);
  REQUIRE(at.data.plain_take("r", "another", 2, 10 * second + 400'000));
  CHECK(row.expires == 12 * second);  // now() has whole seconds
  const request q{
      .action = verb::take, .resource = "r", .session = a, .nonce = 1, .kind = lease_kind::column, .ttl = 5s};
  CHECK(at.data.run(q, {12 * second + 999'999}).result == outcome::no);
  CHECK(at.data.run(q, {13 * second}).result == outcome::yes);
  CHECK(row.expires == 18 * second);
  CHECK_FALSE(at.data.plain_take("r", "another", 2, 18 * second + 999'999));
  CHECK(at.data.plain_take("r", "another", 2, 19 * second));
}

TEST_CASE_METHOD(server_fixture, "simulated server: a claim passes over locked rows, and counts when it is committed",
                 "[simulation]") {
  for (const char* const key : {"r1", "r2"}) at.data.make_row(key, false);
  transaction first;
  transaction second_one;
  first.connection = at.connect();
  second_one.connection = at.connect();
  CHECK(at.lock_free_rows(first, false, 1) == std::vector<std::string>{"r1"});
  CHECK(at.lock_free_rows(second_one, false, 5) == std::vector<std::string>{"r2"});
  CHECK(at.claim(first, {.action = verb::take, .resource = "r1", .session = a, .nonce = 5}) == 1);
  CHECK_FALSE(at.data.locks().at("r1").session);
  REQUIRE(at.commit(first));
  CHECK(at.data.locks().at("r1").session == a);
  at.claim(second_one, {.action = verb::take, .resource = "r2", .session = a, .nonce = 6});
  at.kill(second_one.connection);
  CHECK_FALSE(at.commit(second_one));
  CHECK_FALSE(at.data.locks().at("r2").held());
}
