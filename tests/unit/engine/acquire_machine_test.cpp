// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/acquire_machine.hpp"
#include "support/test.hpp"

namespace dlock::engine {

std::ostream& operator<<(std::ostream& out, step step) {
  constexpr const char* names[] = {"take",    "poll",      "insert",  "remove", "take_over", "pause",
                                   "resolve", "give_back", "granted", "busy",   "failed"};
  return out << names[static_cast<int>(step)];
}

}  // namespace dlock::engine

namespace {

using namespace std::chrono_literals;
using namespace dlock;
using engine::acquire_machine;
using engine::step;
using std::chrono::microseconds;

constexpr instant start{1'000s};
constexpr instant for_ever = instant::max();

acquire_machine::settings waits(std::chrono::milliseconds wait = 10s) {
  return {.deadline = start + wait, .retry = {.pause = 10ms, .max_pause = 100ms, .jitter = 0.0}};
}

reply said(outcome result) { return {.result = result}; }
reply yes(std::uint64_t fence = 7) { return {.result = outcome::yes, .fence = fence}; }
reply polls_free() { return {.result = outcome::yes}; }
reply held(bool kept, bool gone, bool expired, microseconds left = 20s) {
  reply r{.result = outcome::yes};
  r.holder = {.holder = id128::random(),
              .fence = 3,
              .kind = kept ? lease_kind::session : lease_kind::expiring,
              .gone = gone,
              .expired = expired,
              .remaining = left,
              .who = "host/1"};
  return r;
}
reply alive(microseconds left = 20s) { return held(true, false, false, left); }
reply failed(fault why) { return {.result = outcome::failed, .why = std::move(why)}; }
const fault transient{.native = 1213, .transient = true, .text = "deadlock"};
const fault contended{.native = 1205, .transient = true, .contended = true, .text = "lock wait"};
const fault broken{.native = 2013, .connection = true, .text = "gone"};
const fault fatal{.native = 1142, .text = "denied"};

/// One line of the state comment: after `before`, the answer leads to `next`.
struct line {
  const char* event;
  std::vector<reply> before;  ///< each of these answers is given to the step that the machine asks for
  reply answer;
  step next;
};

/// Gives the answers, all at `now`, walking through pauses.
step walk(acquire_machine& m, const std::vector<reply>& answers, instant now = start) {
  step at = m.begin();
  for (const auto& each : answers) {
    if (at == step::pause) at = m.paused();
    at = m.replied(each, now, for_ever);
  }
  return at;
}

}  // namespace

TEST_CASE("acquire_machine: each reply leads where the state table says") {
  const std::vector<line> table{
      {"take yes", {}, yes(), step::granted},
      {"take no", {}, said(outcome::no), step::poll},
      {"take failed, contended", {}, failed(contended), step::poll},
      {"take failed, contended, free at the poll", {failed(contended)}, polls_free(), step::take},
      {"take failed, transient", {}, failed(transient), step::pause},
      {"take failed, connection", {}, failed(broken), step::pause},
      {"take failed otherwise", {}, failed(fatal), step::failed},
      {"take unknown", {}, said(outcome::unknown), step::resolve},
      {"poll absent", {said(outcome::no)}, said(outcome::absent), step::insert},
      {"poll free", {said(outcome::no)}, polls_free(), step::take},
      {"poll own expiry over", {said(outcome::no)}, held(false, false, true), step::take},
      {"poll own expiry to come", {said(outcome::no)}, held(false, false, false), step::pause},
      {"poll kept and gone", {said(outcome::no)}, held(true, true, true), step::take_over},
      {"poll kept and expired", {said(outcome::no)}, held(true, false, true), step::remove},
      {"poll kept and alive", {said(outcome::no)}, alive(), step::pause},
      {"poll unknown", {said(outcome::no)}, said(outcome::unknown), step::pause},
      {"poll failed, transient", {said(outcome::no)}, failed(transient), step::pause},
      {"poll failed, contended", {said(outcome::no)}, failed(contended), step::pause},
      {"poll failed otherwise", {said(outcome::no)}, failed(fatal), step::failed},
      {"remove yes", {said(outcome::no), held(true, false, true)}, said(outcome::yes), step::take_over},
      {"remove no", {said(outcome::no), held(true, false, true)}, said(outcome::no), step::take_over},
      {"remove unknown", {said(outcome::no), held(true, false, true)}, said(outcome::unknown), step::pause},
      {"remove failed", {said(outcome::no), held(true, false, true)}, failed(fatal), step::failed},
      {"take_over yes", {said(outcome::no), held(true, true, true)}, yes(), step::granted},
      {"take_over no", {said(outcome::no), held(true, true, true)}, said(outcome::no), step::pause},
      {"take_over unknown", {said(outcome::no), held(true, true, true)}, said(outcome::unknown), step::resolve},
      {"insert yes", {said(outcome::no), said(outcome::absent)}, yes(1), step::granted},
      {"insert no", {said(outcome::no), said(outcome::absent)}, said(outcome::no), step::take},
      {"insert unknown", {said(outcome::no), said(outcome::absent)}, said(outcome::unknown), step::resolve},
      {"insert failed, contended", {said(outcome::no), said(outcome::absent)}, failed(contended), step::pause},
      {"after a pause: look", {said(outcome::no), alive()}, polls_free(), step::take},
  };
  for (const auto& [what, before, answer, next] : table) {
    INFO(what);
    acquire_machine m(waits());
    auto all = before;
    all.push_back(answer);
    CHECK(walk(m, all) == next);
    CHECK(m.statements() == all.size());
  }
}

namespace {

reply members(membership shared, bool any, bool gone = false, bool expired = false, bool stale = false) {
  auto r = held(true, gone, expired);
  if (!any) r.holder.holder = {};
  r.holder.shared = shared;
  r.holder.stale = stale;
  return r;
}

}  // namespace

TEST_CASE("acquire_machine: the exclusive lock of a key with members") {
  const auto no = said(outcome::no), done = said(outcome::yes);
  const auto open = members(membership::open, true), closed = members(membership::closed, true);
  const auto empty = members(membership::closed, false);
  auto again = closed;
  ++again.holder.closing;
  const std::vector<std::pair<std::vector<reply>, step>> table{
      {{no, open}, step::close},
      {{no, members(membership::open, false)}, step::close},
      {{no, open, done}, step::poll},
      {{no, open, no}, step::poll},
      {{no, open, said(outcome::unknown)}, step::pause},
      {{no, open, done, closed}, step::pause},
      {{no, open, done, closed, closed}, step::pause},
      {{no, open, done, closed, members(membership::closed, true, false, false, true)}, step::close},
      {{no, closed}, step::close},
      {{no, closed, done, closed}, step::pause},
      {{no, closed, done, closed, closed}, step::pause},
      {{no, closed, done, closed, again}, step::close},
      {{no, closed, done, closed, again, done, again, again}, step::pause},
      {{no, empty}, step::take},
      {{no, open, done, empty}, step::take},
      {{no, open, done, empty, yes(9)}, step::granted},
      {{no, open, done, empty, no}, step::poll},
      {{no, open, done, members(membership::open, true)}, step::close},
      {{no, members(membership::closed, true, true)}, step::take_over},
      {{no, members(membership::closed, true, true), no}, step::poll},
      {{no, members(membership::closed, true, false, true)}, step::remove},
      {{no, members(membership::closed, true, false, true), done, no}, step::poll},
  };
  for (const auto& [answers, next] : table) {
    acquire_machine m(waits());
    CHECK(walk(m, answers) == next);
  }
  // A single attempt does not keep readers out.
  acquire_machine busy(waits(0ms)), free(waits(0ms)), beside(waits(0ms));
  CHECK(walk(busy, {no, open}) == step::busy);
  CHECK(walk(beside, {no, closed}) == step::busy);
  CHECK(walk(free, {no, members(membership::open, false)}) == step::close);
}

TEST_CASE("acquire_machine: a member closes no key, and joins where nobody keeps it out") {
  auto settings = waits();
  settings.shares = true;
  const auto no = said(outcome::no);
  const std::vector<std::pair<std::vector<reply>, step>> table{
      {{no, members(membership::open, false)}, step::take},
      {{no, members(membership::open, true)}, step::pause},
      {{no, members(membership::closed, true)}, step::pause},
      {{no, members(membership::open, true, true)}, step::take_over},
      {{no, members(membership::open, true, true), no}, step::poll},
      {{no, said(outcome::absent)}, step::insert},
      {{no, alive()}, step::pause},
  };
  for (const auto& [answers, next] : table) {
    acquire_machine m(settings);
    CHECK(walk(m, answers) == next);
  }
}

TEST_CASE("acquire_machine: a known contended key is looked at first") {
  auto settings = waits();
  CHECK(acquire_machine(settings).begin() == step::take);
  settings.poll_first = true;
  CHECK(acquire_machine(settings).begin() == step::poll);
}

TEST_CASE("acquire_machine: the grant carries its fence and whether it was taken over") {
  acquire_machine plain(waits());
  walk(plain, {yes(41)});
  CHECK(plain.fence() == 41);
  CHECK_FALSE(plain.taken_over());

  acquire_machine over(waits());
  const auto dead = held(true, false, true);
  walk(over, {said(outcome::no), dead, said(outcome::yes)});
  CHECK(over.holder().holder == dead.holder.holder);
  CHECK(over.holder().fence == dead.holder.fence);
  CHECK(over.replied(yes(42), start, for_ever) == step::granted);
  CHECK(over.fence() == 42);
  CHECK(over.taken_over());
}

TEST_CASE("acquire_machine: one attempt asked for is one attempt, whatever the deadline", "[T32]") {
  auto settings = waits();
  settings.once = true;
  const std::vector<std::pair<std::vector<reply>, step>> table{
      {{said(outcome::no), alive()}, step::busy},
      {{said(outcome::no), held(false, false, false)}, step::busy},
      {{said(outcome::no), held(true, true, true), said(outcome::no)}, step::busy},
      {{failed(contended), alive()}, step::busy},
      {{failed(contended), polls_free(), failed(contended), polls_free()}, step::busy},
      {{failed(transient)}, step::failed},
      {{failed(broken)}, step::failed},
      {{said(outcome::no), said(outcome::unknown)}, step::failed},
  };
  for (const auto& [answers, end] : table) {
    acquire_machine m(settings);
    CHECK(walk(m, answers) == end);
  }
  acquire_machine m(settings);
  CHECK(walk(m, {said(outcome::unknown)}) == step::resolve);
  CHECK(m.resolved(start) == step::failed);
}

TEST_CASE("acquire_machine: wait 0 is exactly one attempt", "[T32]") {
  acquire_machine m(waits(0ms));
  CHECK(walk(m, {said(outcome::no), alive()}) == step::busy);
  CHECK(m.statements() == 2);
}

TEST_CASE("acquire_machine: a retry limit of n means n + 1 attempts", "[T32]") {
  const auto limit = GENERATE(0u, 1u, 2u, 20u);
  const bool trouble = GENERATE(false, true);
  auto settings = waits(1h);
  settings.retry.limit = limit;
  acquire_machine m(settings);
  unsigned attempts = 0;
  step at = m.begin();
  while (at != step::busy && at != step::failed) {
    if (at == step::pause) at = m.paused();
    if (at == step::take) {
      at = m.replied(said(outcome::no), start, for_ever);
      continue;
    }
    REQUIRE(at == step::poll);
    ++attempts;
    at = trouble ? m.not_done(transient, start) : m.replied(alive(), start, for_ever);
    REQUIRE(attempts <= 30);
  }
  CHECK(attempts == limit + 1);
  CHECK(at == (trouble ? step::failed : step::busy));
}

TEST_CASE("acquire_machine: a pause ends with the holder's lease or the wait, and is never zero", "[T30]") {
  auto settings = waits(10s);
  settings.retry = {.pause = 4s, .max_pause = 4s, .jitter = 0.0};
  const auto pause_after = [&](const reply& seen, instant now) {
    acquire_machine m(settings);
    m.begin();
    m.replied(said(outcome::no), now, for_ever);
    REQUIRE(m.replied(seen, now, for_ever) == step::pause);
    return m.pause();
  };
  CHECK(pause_after(alive(20s), start) == 4s);
  CHECK(pause_after(alive(3s), start) == 3s);
  CHECK(pause_after(held(false, false, false, 2s), start) == 2s);
  CHECK(pause_after(alive(20s), start + 7s) == 3s);
  CHECK(pause_after(alive(0us), start) == 500us);
  CHECK(pause_after(alive(20s), start + 10s - 1us) == 1us);
}

TEST_CASE("acquire_machine: a waiter that would be notified polls while it has not seen the holder", "[T30]") {
  const auto pause_after = [](std::initializer_list<reply> answers) {
    acquire_machine m(waits());
    m.begin();
    for (const auto& each : answers) m.replied(each, start, for_ever);
    CHECK(m.pause() == 10ms);
    return m.pause_if_notified();
  };
  CHECK(pause_after({said(outcome::no), alive(3s)}) == 3s);
  // Another taker was quicker, or clean-up has deleted the row, and notifies nobody.
  CHECK(pause_after({said(outcome::no), held(true, true, true), said(outcome::no)}) == 10ms);
  CHECK(pause_after({said(outcome::no), held(true, false, true), said(outcome::no), said(outcome::no)}) == 10ms);
  const auto free = polls_free();
  const auto taken = said(outcome::no);
  CHECK(pause_after({taken, free, taken, free, taken, free, taken, free}) == 10ms);
}

TEST_CASE("acquire_machine: pauses grow by the policy", "[T32]") {
  acquire_machine m(waits(1h));
  walk(m, {said(outcome::no), alive()});
  std::vector<microseconds> pauses;
  for (int i = 0; i < 6; ++i) {
    pauses.push_back(m.pause());
    m.paused();
    REQUIRE(m.replied(alive(), start, for_ever) == step::pause);
  }
  CHECK(pauses == std::vector<microseconds>{10ms, 20ms, 40ms, 80ms, 100ms, 100ms});
}

TEST_CASE("acquire_machine: at the deadline comes one last poll, and what it finds counts", "[T31]") {
  const auto end = start + 10s;
  const auto at_the_end = [&](acquire_machine& m) {
    walk(m, {said(outcome::no), alive()}, end - 5ms);
    CHECK(m.pause() == 5ms);
    return m.paused();
  };
  acquire_machine free(waits());
  CHECK(at_the_end(free) == step::poll);
  CHECK(free.replied(polls_free(), end, for_ever) == step::take);
  CHECK(free.replied(yes(), end + 1ms, for_ever) == step::granted);

  acquire_machine busy(waits());
  CHECK(at_the_end(busy) == step::poll);
  CHECK(busy.replied(alive(), end, for_ever) == step::busy);

  acquire_machine trouble(waits());
  CHECK(at_the_end(trouble) == step::poll);
  CHECK(trouble.replied(failed(broken), end, for_ever) == step::failed);
}

TEST_CASE("acquire_machine: a grant that can't be trusted any more is given back, and asked for again",
          "[T25][T29][T38]") {
  for (const auto late : {0us, 1us, microseconds{1s}}) {
    acquire_machine m(waits());
    m.begin();
    CHECK(m.replied(yes(9), start + 1s + late, start + 1s) == step::give_back);
    CHECK(m.fence() == 9);
    CHECK(m.given_back(start + 2s) == step::pause);
    CHECK(m.paused() == step::poll);
  }
  acquire_machine in_time(waits());
  in_time.begin();
  CHECK(in_time.replied(yes(), start + 1s - 1us, start + 1s) == step::granted);

  auto settings = waits();
  settings.once = true;
  acquire_machine once(settings);
  once.begin();
  CHECK(once.replied(yes(), start + 1s, start + 1s) == step::give_back);
  CHECK(once.given_back(start + 1s) == step::failed);
  CHECK(once.why().transient);
  CHECK(once.why().text.find("too late") != std::string::npos);
}

TEST_CASE("acquire_machine: an unknown outcome is resolved, then the key is looked at again") {
  acquire_machine m(waits());
  CHECK(walk(m, {{.result = outcome::unknown, .why = broken}}) == step::resolve);
  CHECK(m.outcome_unknown());
  CHECK(m.resolved(start) == step::pause);
  CHECK(m.paused() == step::poll);
  CHECK(m.replied(polls_free(), start, for_ever) == step::take);
  CHECK(m.replied(yes(), start, for_ever) == step::granted);
}

TEST_CASE("acquire_machine: only an attempt without an answer has an unknown outcome") {
  acquire_machine poll(waits(0ms));
  CHECK(walk(poll, {said(outcome::no), said(outcome::unknown)}) == step::failed);
  CHECK_FALSE(poll.outcome_unknown());
  CHECK_FALSE(poll.why().text.empty());

  acquire_machine take(waits(0ms));
  CHECK(walk(take, {said(outcome::unknown)}) == step::resolve);
  CHECK(take.resolved(start) == step::failed);
  CHECK(take.outcome_unknown());
}

TEST_CASE("acquire_machine: trouble that lasts is the reason at the end") {
  acquire_machine m(waits());
  CHECK(walk(m, {failed(transient)}) == step::pause);
  CHECK(m.paused() == step::poll);
  CHECK(m.not_done(broken, start + 10s) == step::failed);
  CHECK(m.why().native == 2013);
  CHECK(m.why().connection);
}

TEST_CASE("acquire_machine: a failure without a text still is one") {
  acquire_machine m(waits(0ms));
  CHECK(walk(m, {failed({})}) == step::failed);
  CHECK_FALSE(m.why().text.empty());
}

TEST_CASE("acquire_machine: trouble that passed is no reason for a busy key") {
  const auto first = GENERATE_COPY(failed(transient), failed(broken), said(outcome::unknown));
  acquire_machine m(waits());
  if (walk(m, {first}) == step::resolve) m.resolved(start);
  CHECK(m.paused() == step::poll);
  CHECK(m.replied(alive(), start + 10s, for_ever) == step::busy);
  CHECK(m.why().text.empty());
  CHECK_FALSE(m.outcome_unknown());
}

TEST_CASE("acquire_machine: contention at the row is a busy key, not a failure", "[T53]") {
  acquire_machine m(waits(0ms));
  CHECK(walk(m, {failed(contended)}) == step::poll);
  CHECK(m.replied(alive(), start, for_ever) == step::busy);
  CHECK(m.why().text.empty());
}

TEST_CASE("acquire_machine: a key that others snatch again and again counts as busy", "[T32]") {
  acquire_machine m(waits());
  step at = m.begin();
  unsigned sent = 0;
  while (at != step::pause) {
    at = at == step::take ? m.replied(said(outcome::no), start, for_ever) : m.replied(polls_free(), start, for_ever);
    REQUIRE(++sent < 20);
  }
  CHECK(sent == 8);  // the first attempt and three more, two statements each
}

TEST_CASE("acquire_machine: who is told lets those ask first who have been passed over more often") {
  auto how = waits();
  CHECK(acquire_machine(how).courtesy() == 0us);
  how.rivals = 2;
  acquire_machine m(how);
  m.begin();
  for (const auto expected : {2ms, 1ms, 0ms, 0ms}) {
    m.replied(said(outcome::no), start, for_ever);
    auto other = alive();
    static std::uint64_t fence = 0;
    other.holder.fence = ++fence;
    REQUIRE(m.replied(other, start, for_ever) == step::pause);
    CHECK(m.courtesy() == expected);
    REQUIRE(m.notified() == step::take);
  }
  how.rivals = 255;
  CHECK(acquire_machine(how).courtesy() == engine::tenure_yield);
}

TEST_CASE("acquire_machine: pauses are brief once one process was seen to take the key again and again") {
  acquire_machine m(waits());
  REQUIRE(m.begin() == step::take);
  auto now = start;
  auto poll = alive();
  std::vector<microseconds> pauses;
  for (auto at = m.replied(said(outcome::no), now, for_ever); at == step::poll && pauses.size() < 8; at = m.paused()) {
    ++poll.holder.fence;
    REQUIRE(m.replied(poll, now, for_ever) == step::pause);
    pauses.push_back(m.pause());
    now += m.pause();
  }
  // The fifth look comes 150 ms after the first, the sixth 250 ms.
  CHECK(pauses == std::vector<microseconds>{10ms, 20ms, 40ms, 80ms, 100ms, 20ms, 20ms, 20ms});
}

namespace {

/// What a waiter sends while one process takes the key again and again, after each of four pauses once it starves. A
/// poll takes `travel`.
std::vector<step> steps_of_starving(acquire_machine::settings how, microseconds travel) {
  acquire_machine m(how);
  auto at = m.begin();
  auto now = start;
  auto poll = alive();
  std::vector<step> sent;
  for (int pauses = 0; pauses < 10;) {
    if (at == step::pause) {
      now += m.pause();
      at = m.paused();
      ++pauses;
    }
    if (at != step::take && at != step::poll) break;
    if (pauses > 5 && pauses < 10) sent.push_back(at);
    now += travel;
    ++poll.holder.fence;
    at = m.replied(at == step::poll ? poll : said(outcome::no), now, for_ever, travel);
  }
  return sent;
}

}  // namespace

TEST_CASE(
    "acquire_machine: a starving waiter far from the server takes as well, because a take after a poll is too late") {
  using enum step;
  CHECK(steps_of_starving(waits(), 2500us - 1us) == std::vector<step>{poll, poll, poll, poll});
  CHECK(steps_of_starving(waits(), 2500us) == std::vector<step>{poll, take, take, take, take,  //
                                                                poll, take, take, take, take,  //
                                                                poll, take, take, take, take,  //
                                                                poll, take, take, take, take});
}

namespace {

/// How many statements a notified waiter sends after each of its pauses, the first time and after so many others. Two
/// processes take the key in turn, each for `hold`; a poll takes `travel`.
std::vector<unsigned> statements_of_notified(microseconds hold, microseconds travel, const std::vector<int>& after) {
  acquire_machine m(waits(60s));
  REQUIRE(m.begin() == step::take);
  REQUIRE(m.replied(said(outcome::no), start, for_ever) == step::poll);
  auto poll = alive();
  REQUIRE(m.replied(poll, start, for_ever, travel) == step::pause);
  std::vector<unsigned> sent;
  for (int pauses = 1; pauses <= after.back(); ++pauses) {
    const auto now = start + pauses * hold;
    poll.holder.holder.bytes[0] ^= 1;
    ++poll.holder.fence;
    const auto before = m.statements();
    for (auto at = m.notified(); at != step::pause;) {
      REQUIRE((at == step::take || at == step::poll));
      at = m.replied(at == step::poll ? poll : said(outcome::no), now, for_ever, travel);
    }
    if (std::find(after.begin(), after.end(), pauses) != after.end()) sent.push_back(m.statements() - before);
  }
  return sent;
}

}  // namespace

TEST_CASE("acquire_machine: a notified waiter that others pass over for long takes as well") {
  using counts = std::vector<unsigned>;
  // After a second one take more for each eight times that it was passed over, at most sixteen.
  CHECK(statements_of_notified(40ms, 1ms, {1, 24, 25, 31, 32, 127, 128, 500}) == counts{2, 2, 5, 5, 6, 17, 18, 18});
  CHECK(statements_of_notified(400ms, 1ms, {2, 3, 7, 8, 9}) == counts{2, 2, 2, 3, 3});
  // Far from the server it does so earlier.
  CHECK(statements_of_notified(400ms, 5ms, {2, 3, 4, 5, 40}) == counts{2, 2, 6, 6, 7});
}

TEST_CASE("acquire_machine: a waiter far from the server that gets nothing ends at its deadline") {
  const auto sent = steps_of_starving(waits(700ms), 30ms);
  CHECK(sent.size() < 10);
  CHECK(sent.size() > 1);
}

TEST_CASE("acquire_machine: who has just had the key for long begins with the longest pause") {
  auto settings = waits();
  settings.patient = true;
  acquire_machine m(settings);
  REQUIRE(walk(m, {said(outcome::no), alive()}) == step::pause);
  CHECK(m.pause() == 100ms);
}

TEST_CASE("acquire_machine: a registered waiter relies on being woken at a grant that it has seen for a while") {
  acquire_machine m(waits());
  const auto same = alive();
  REQUIRE(walk(m, {said(outcome::no), same}) == step::pause);
  CHECK(m.has_paused());
  const auto pauses = [&](microseconds after) { return m.pause_if_registered(start + after); };
  // It polls when the grant is old enough, and before if its policy says so.
  CHECK(pauses(0us) == 10ms);
  CHECK(pauses(15ms) == 5ms);
  CHECK(pauses(20ms - 1us) == 500us);
  CHECK(pauses(20ms) == 10s - 0us);
  // The next grant of the key counts anew.
  m.paused();
  REQUIRE(m.replied(alive(), start + 30ms, for_ever) == step::pause);
  CHECK(pauses(30ms) == 20ms);
  CHECK(pauses(50ms) > 1s);
}

TEST_CASE("acquire_machine: who expects others at the key registers after a refused take, and polls then") {
  auto settings = waits();
  settings.registers_first = true;
  acquire_machine m(settings);
  CHECK(m.begin() == step::take);
  REQUIRE(m.replied(said(outcome::no), start, for_ever) == step::pause);
  CHECK(m.waits_for_holder());
  CHECK(m.relies_on_release(start));
  CHECK(m.pause_if_registered(start) == 10ms);  // it has not seen when the holder's lease can end
  m.paused();
  REQUIRE(m.replied(alive(), start, for_ever) == step::pause);
  // From now on a refused take is followed by a poll.
  REQUIRE(m.notified() == step::take);
  CHECK(m.replied(said(outcome::no), start, for_ever) == step::poll);

  SECTION("not for a single attempt, and not without time") {
    settings.once = true;
    acquire_machine once(settings);
    CHECK(once.begin() == step::take);
    CHECK(once.replied(said(outcome::no), start, for_ever) == step::poll);
  }
}

TEST_CASE("acquire_machine: a registered waiter relies at once on a grant that promises to look for it") {
  acquire_machine m(waits());
  auto young = alive();
  young.holder.nonce = 7;
  REQUIRE(walk(m, {said(outcome::no), young}) == step::pause);
  CHECK(m.relies_on_release(start));
  CHECK(m.pause_if_registered(start) == 10s);
  m.paused();
  young.holder.nonce = 8;
  ++young.holder.fence;
  REQUIRE(m.replied(young, start + 30ms, for_ever) == step::pause);
  CHECK_FALSE(m.relies_on_release(start + 30ms));
  CHECK(m.pause_if_registered(start + 30ms) == 20ms);
}

TEST_CASE("acquire_machine: who keeps the order lets others take a free key, for a second") {
  acquire_machine m(waits());
  auto others = polls_free();
  others.holder.fence = 3;
  others.holder.others_first = true;
  REQUIRE(walk(m, {said(outcome::no), others}) == step::pause);
  CHECK(m.waits_for_holder());
  CHECK_FALSE(m.overtakes());
  const auto polls = [&](microseconds after) {
    m.paused();
    return m.replied(others, start + after, for_ever);
  };
  REQUIRE(polls(990ms) == step::pause);
  CHECK(m.pause() <= 10ms);  // no longer than they have
  CHECK_FALSE(m.overtakes());
  REQUIRE(polls(1s) == step::take);
  CHECK(m.overtakes());
  // Somebody else was faster: from then on the next has its second.
  others.holder.fence = 4;
  REQUIRE(m.replied(said(outcome::no), start + 1s, for_ever) == step::poll);
  REQUIRE(m.replied(others, start + 1s, for_ever) == step::pause);
  CHECK_FALSE(m.overtakes());
  REQUIRE(polls(1'999ms) == step::pause);
  REQUIRE(polls(2s) == step::take);
}

TEST_CASE("acquire_machine: who keeps the order lets others take over from a dead holder") {
  acquire_machine m(waits());
  auto gone = held(true, true, true);
  gone.holder.others_first = true;
  REQUIRE(walk(m, {said(outcome::no), gone}) == step::pause);
  gone.holder.others_first = false;
  m.paused();
  CHECK(m.replied(gone, start + 10ms, for_ever) == step::take_over);
}
